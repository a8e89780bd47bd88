package policy

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/strategy"
)

// Policy is a policy that is ready to run: decoded, defaulted, validated, every
// enabled plugin with its arguments.
type Policy struct {
	// NodeSelector chooses the nodes that strategies look at.
	NodeSelector labels.Selector
	// MaxNoOfPodsToEvictPerNode, PerNamespace and Total cap the evictions of one
	// cycle. nil means no limit, 0 means that nothing is evicted.
	MaxNoOfPodsToEvictPerNode      *uint
	MaxNoOfPodsToEvictPerNamespace *uint
	MaxNoOfPodsToEvictTotal        *uint
	// GracePeriodSeconds replaces the grace period of evicted pods; nil means the
	// pod's own. Never negative.
	GracePeriodSeconds *int64
	// EvictionFailureEventNotification makes refused evictions Events too.
	EvictionFailureEventNotification bool
	// KubernetesMetrics says that the metrics.k8s.io API is to be read.
	KubernetesMetrics bool
	// Prometheus is the server to ask for measurements, nil for none.
	Prometheus *Prometheus
	// Profiles are in the order of the file.
	Profiles []Profile
}

// Profile is a set of plugins that work by the same rules of what may be evicted.
type Profile struct {
	// Name is what the file says: it may be empty or the same as another's.
	Name string
	// Evictor is defaulted.
	Evictor EvictorArgs
	// Deschedule and Balance are the plugins to run, in the order of the file; a
	// plugin that is listed twice is here twice.
	Deschedule, Balance []PluginUse
}

// PluginUse is one enabled plugin.
type PluginUse struct {
	Name string
	// Args is defaulted, of the type that strategy.Plugin.NewArgs returns. Uses
	// of one plugin in a profile share it.
	Args strategy.Args
}

// Load reads the policy in a file of that name. Warnings are returned with and
// without an error; a non-nil error is an *Error with every problem found.
func Load(name string, data []byte) (*Policy, []Warning, error) {
	src, err := findSource(name, data)
	if err != nil {
		return nil, nil, err
	}
	f := &findings{src: src}
	d := decode(f)
	var p *Policy
	if d != nil {
		p = compile(f, d)
		if d.fits {
			lint(f, d)
		}
	}
	warnings := f.sorted()
	if err := f.err(); err != nil {
		return nil, warnings, err
	}
	return p, warnings, nil
}

// Decode reads a policy as Load does but stops before enabled plugins are
// matched with their arguments. The Document it returns has every default
// written out, DefaultEvictor in its places included.
func Decode(name string, data []byte) (*Document, []Warning, error) {
	src, err := findSource(name, data)
	if err != nil {
		return nil, nil, err
	}
	f := &findings{src: src}
	d := decode(f)
	if d != nil {
		f.invalid(validateMetrics(src.prefix, d.doc))
	}
	warnings := f.sorted()
	if err := f.err(); err != nil {
		return nil, warnings, err
	}
	if err := d.writeDefaults(); err != nil {
		return nil, warnings, &Error{Name: name, Problems: []Problem{{Message: err.Error()}}}
	}
	return d.doc, warnings, nil
}

// writeDefaults puts defaulted arguments and the implied DefaultEvictor into the
// document.
func (d *draft) writeDefaults() error {
	for i := range d.doc.Profiles {
		profile := &d.doc.Profiles[i]
		configs := d.configs[i]
		if !slices.ContainsFunc(configs, func(c config) bool { return c.name == EvictorName }) {
			evictor := &EvictorArgs{}
			evictor.SetDefaults()
			configs = append([]config{{name: EvictorName, args: evictor}}, configs...)
		}
		profile.PluginConfig = nil
		for _, c := range configs {
			args, err := json.Marshal(c.args)
			if err != nil {
				return err
			}
			profile.PluginConfig = append(profile.PluginConfig, PluginConfig{Name: c.name, Args: args})
		}
		for _, set := range []*PluginSet{&profile.Plugins.Filter, &profile.Plugins.PreEvictionFilter} {
			if !slices.Contains(set.Enabled, EvictorName) {
				set.Enabled = append([]string{EvictorName}, set.Enabled...)
			}
		}
	}
	return nil
}
