package policy

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/strategy"
)

// lint warns of what is legal and does nothing, or not what it seems to.
func lint(f *findings, d *draft) {
	path := f.src.prefix
	lintTemplates(f, path, f.src.value)
	lintLimits(f, path, d.doc)
	lintProviders(f, path.Child("metricsProviders"), d.doc.MetricsProviders)
	if len(d.doc.Profiles) == 0 {
		f.warn(path.Child("profiles"), "there are no profiles, so nothing will ever be done")
	}
	var names []string
	for i, p := range d.doc.Profiles {
		at := path.Child("profiles").Index(i)
		if slices.Contains(names, p.Name) {
			f.warn(at.Child("name"), "another profile is called %q too, reports will not tell them apart", p.Name)
		}
		names = append(names, p.Name)
		lintPlugins(f, at, p)
		lintConfigs(f, at, p, d.configs[i])
		for _, c := range d.configs[i] {
			lintArgs(f, c, d.doc)
		}
	}
	lintOpposites(f, path, d.doc)
}

// lintTemplates warns of values that Helm would render: here they stay as they are, and most likely select nothing.
func lintTemplates(f *findings, path *field.Path, value any) {
	switch v := value.(type) {
	case string:
		if isTemplate(v) {
			f.warn(path, "%q is a template, which only Helm renders: give the rendered policy", v)
		}
	case []any:
		for i := range v {
			lintTemplates(f, path.Index(i), v[i])
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			lintTemplates(f, path.Child(k), v[k])
		}
	}
}

func isTemplate(s string) bool { return strings.Contains(s, "{{") }

func lintLimits(f *findings, path *field.Path, doc *Document) {
	for _, l := range []struct {
		name  string
		limit *uint
	}{
		{"maxNoOfPodsToEvictPerNode", doc.MaxNoOfPodsToEvictPerNode},
		{"maxNoOfPodsToEvictPerNamespace", doc.MaxNoOfPodsToEvictPerNamespace},
		{"maxNoOfPodsToEvictTotal", doc.MaxNoOfPodsToEvictTotal},
	} {
		if l.limit != nil && *l.limit == 0 {
			f.warn(path.Child(l.name), "0 means that nothing is evicted, leave it out for no limit")
		}
	}
}

// lintPlugins warns of lists that have no effect and of plugins listed twice.
func lintPlugins(f *findings, path *field.Path, p DocumentProfile) {
	plugins := path.Child("plugins")
	for _, s := range []struct {
		name string
		set  PluginSet
	}{
		{"presort", p.Plugins.PreSort},
		{"sort", p.Plugins.Sort},
		{"deschedule", p.Plugins.Deschedule},
		{"balance", p.Plugins.Balance},
		{"filter", p.Plugins.Filter},
		{"preevictionfilter", p.Plugins.PreEvictionFilter},
	} {
		if len(s.set.Disabled) > 0 {
			f.warn(plugins.Child(s.name, "disabled"), "has no effect: only what is in enabled runs")
		}
		for i, name := range s.set.Enabled {
			if slices.Contains(s.set.Enabled[:i], name) {
				f.warn(plugins.Child(s.name, "enabled").Index(i), "%s is listed twice", name)
			}
		}
	}
	if len(p.Plugins.PreSort.Enabled) > 0 {
		f.warn(plugins.Child("presort", "enabled"), "has no effect")
	}
	if len(p.Plugins.Sort.Enabled) > 0 {
		f.warn(plugins.Child("sort", "enabled"), "has no effect")
	}
	if len(p.Plugins.Deschedule.Enabled)+len(p.Plugins.Balance.Enabled) == 0 {
		f.warn(plugins, "enables neither deschedule nor balance plugins, so the profile does nothing")
	}
}

// lintConfigs warns of entries that no plugin will read.
func lintConfigs(f *findings, path *field.Path, p DocumentProfile, configs []config) {
	for i, c := range configs {
		if _, double := firstConfig(configs[:i], c.name); double {
			f.warn(c.path, "%s has an entry before this one, which is the one used", c.name)
			continue
		}
		plugin, ok := strategy.LookupPlugin(c.name)
		if !ok {
			continue
		}
		enabled := p.Plugins.Deschedule.Enabled
		if plugin.Point == strategy.Balance {
			enabled = p.Plugins.Balance.Enabled
		}
		if !slices.Contains(enabled, c.name) {
			f.warn(c.path, "%s is configured but will not run: it is not in %s.%s.enabled", c.name, path.Child("plugins"), plugin.Point)
		}
	}
}

// lintNulls warns of places that were left empty among the thresholds and in lists, where nothing counts as 0 or as "". It is
// for a value in which what does not fit has not been replaced yet.
func lintNulls(f *findings, path *field.Path, value any) {
	switch v := value.(type) {
	case []any:
		for i := range v {
			if v[i] == nil {
				f.warn(path.Index(i), "the value is missing")
			}
			lintNulls(f, path.Index(i), v[i])
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			lintNulls(f, path.Child(k), v[k])
			thresholds, _ := v[k].(map[string]any)
			if k != "thresholds" && k != "targetThresholds" {
				continue
			}
			for _, resource := range slices.Sorted(maps.Keys(thresholds)) {
				if thresholds[resource] == nil {
					f.warn(path.Child(k).Key(resource), "the value is missing, and counts as 0")
				}
			}
		}
	}
}

// lintOpposites warns of two strategies that undo each other's work.
func lintOpposites(f *findings, path *field.Path, doc *Document) {
	low, high := false, false
	for _, p := range doc.Profiles {
		low = low || slices.Contains(p.Plugins.Balance.Enabled, "LowNodeUtilization")
		high = high || slices.Contains(p.Plugins.Balance.Enabled, "HighNodeUtilization")
	}
	if low && high {
		f.warn(path.Child("profiles"), "LowNodeUtilization spreads pods and HighNodeUtilization packs them: they undo each other's work")
	}
}

func lintEvictor(f *findings, path *field.Path, a *EvictorArgs) {
	if a.MinReplicas == 1 {
		f.warn(path.Child("minReplicas"), "1 has no effect, every owner has that many")
	}
	set := a.Protections()
	if len(a.PodProtections.storageClasses()) > 0 && !set.PVC {
		f.warn(path.Child("podProtections", "config"), "has no effect unless podProtections.extraEnabled lists %s", PodsWithPVC)
	}
	if a.PodProtections.Config != nil && set.PVC && !a.PodProtections.inForce() {
		f.warn(path.Child("podProtections", "config"), "has no effect with ignorePvcPods, list %s in podProtections.extraEnabled instead", PodsWithPVC)
	}
	if t := a.PriorityThreshold; !set.SystemCritical && t != nil && (t.Name != "" || t.Value != nil && *t.Value < SystemCriticalPriority) {
		f.warn(path.Child("priorityThreshold"), "has no effect while system critical pods may be evicted")
	}
	if a.NodeSelector != "" && !a.NodeFit {
		f.warn(path.Child("nodeSelector"), "has no effect without nodeFit; nodeSelector at the top of the policy chooses the nodes to look at")
	}
}
