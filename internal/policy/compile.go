package policy

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/strategy"
)

// compile validates the document as a whole and matches enabled plugins with
// their arguments.
func compile(f *findings, d *draft) *Policy {
	doc, path := d.doc, f.src.prefix
	nodes, errs := parseNodeSelector(path.Child("nodeSelector"), doc.NodeSelector)
	f.invalid(errs)
	p := &Policy{
		NodeSelector:                     nodes,
		MaxNoOfPodsToEvictPerNode:        doc.MaxNoOfPodsToEvictPerNode,
		MaxNoOfPodsToEvictPerNamespace:   doc.MaxNoOfPodsToEvictPerNamespace,
		MaxNoOfPodsToEvictTotal:          doc.MaxNoOfPodsToEvictTotal,
		GracePeriodSeconds:               doc.GracePeriodSeconds,
		EvictionFailureEventNotification: doc.EvictionFailureEventNotification != nil && *doc.EvictionFailureEventNotification,
		KubernetesMetrics:                doc.MetricsCollector != nil && doc.MetricsCollector.Enabled,
	}
	if g := doc.GracePeriodSeconds; g != nil && *g < 0 {
		f.invalid(field.ErrorList{field.Invalid(path.Child("gracePeriodSeconds"), *g, "must not be negative")})
	}
	f.invalid(validateMetrics(path, doc))
	for _, m := range doc.MetricsProviders {
		switch m.Source {
		case strategy.KubernetesMetrics:
			p.KubernetesMetrics = true
		case strategy.PrometheusMetrics:
			p.Prometheus = m.Prometheus
		}
	}
	if !d.fits {
		return p
	}
	for i := range doc.Profiles {
		p.Profiles = append(p.Profiles, compileProfile(f, path.Child("profiles").Index(i), &doc.Profiles[i], d.configs[i]))
	}
	return p
}

// parseNodeSelector takes no selector as one for all nodes.
func parseNodeSelector(path *field.Path, text *string) (labels.Selector, field.ErrorList) {
	if text == nil {
		return labels.Everything(), nil
	}
	selector, err := labels.Parse(*text)
	if err != nil {
		return labels.Nothing(), field.ErrorList{field.Invalid(path, *text, err.Error())}
	}
	return selector, nil
}

func compileProfile(f *findings, path *field.Path, doc *DocumentProfile, configs []config) Profile {
	p := Profile{Name: doc.Name}
	if c, ok := firstConfig(configs, EvictorName); ok {
		if args, ok := c.args.(*EvictorArgs); ok {
			p.Evictor = *args
		}
	} else {
		p.Evictor.SetDefaults()
	}
	plugins := path.Child("plugins")
	p.Deschedule = compileSet(f, plugins, strategy.Deschedule, doc.Plugins.Deschedule, configs)
	p.Balance = compileSet(f, plugins, strategy.Balance, doc.Plugins.Balance, configs)
	checkFilters(f, plugins.Child("filter", "enabled"), doc.Plugins.Filter)
	checkFilters(f, plugins.Child("preevictionfilter", "enabled"), doc.Plugins.PreEvictionFilter)
	return p
}

func firstConfig(configs []config, name string) (config, bool) {
	i := slices.IndexFunc(configs, func(c config) bool { return c.name == name })
	if i < 0 {
		return config{}, false
	}
	return configs[i], true
}

func compileSet(f *findings, plugins *field.Path, point strategy.Point, set PluginSet, configs []config) []PluginUse {
	var uses []PluginUse
	for i, name := range set.Enabled {
		path := plugins.Child(string(point), "enabled").Index(i)
		if reason := whyNotAt(point, name); reason != "" {
			f.problem(path, "%s", reason)
			continue
		}
		c, ok := firstConfig(configs, name)
		if !ok {
			f.problem(path, "%s is enabled but has no entry in pluginConfig: add \"- name: %s\" there, with args if it needs any", name, name)
			continue
		}
		uses = append(uses, PluginUse{Name: name, Args: c.args})
	}
	return uses
}

// whyNotAt says why a plugin of that name cannot be enabled at point, or "".
func whyNotAt(point strategy.Point, name string) string {
	if name == EvictorName {
		return fmt.Sprintf("%s is no %s plugin: it filters, and is always enabled", name, point)
	}
	plugin, ok := strategy.LookupPlugin(name)
	switch {
	case !ok:
		return fmt.Sprintf("there is no plugin %q%s", name, didYouMean(name, pluginNames()))
	case plugin.Point != point:
		return fmt.Sprintf("%s is no %s plugin: list it under plugins.%s.enabled", name, point, plugin.Point)
	}
	return ""
}

// checkFilters refuses everything but DefaultEvictor as a filter.
func checkFilters(f *findings, path *field.Path, set PluginSet) {
	for i, name := range set.Enabled {
		if name == EvictorName {
			continue
		}
		if plugin, ok := strategy.LookupPlugin(name); ok {
			f.problem(path.Index(i), "%s does not filter: list it under plugins.%s.enabled", name, plugin.Point)
			continue
		}
		f.problem(path.Index(i), "there is no filter %q, the only one is %s", name, EvictorName)
	}
}
