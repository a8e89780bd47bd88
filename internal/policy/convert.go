package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/internal/strategy"
)

// Convert translates a policy of version descheduler/v1alpha1, wrapped in a file
// in any of the ways that Load knows. Each enabled strategy gets a profile of its
// own, named as the descheduler named it. The warnings say what was not carried
// over: it had no effect in v1alpha1, or has no counterpart. A policy that
// v1alpha1 itself would have refused is refused; the error is an *Error.
func Convert(name string, data []byte) (*Document, []Warning, error) {
	src, err := findSource(name, data)
	if err != nil {
		return nil, nil, err
	}
	f := &findings{src: src}
	doc := convert(f)
	checkConverted(f, doc)
	warnings := f.sorted()
	if err := f.err(); err != nil {
		return nil, warnings, err
	}
	return doc, warnings, nil
}

// convert returns the new document, or nil if there is nothing to go on with.
func convert(f *findings) *Document {
	old := decodeOld(f)
	if old == nil {
		return nil
	}
	doc := &Document{
		APIVersion:                     APIVersion,
		Kind:                           Kind,
		NodeSelector:                   old.NodeSelector,
		MaxNoOfPodsToEvictPerNode:      old.MaxNoOfPodsToEvictPerNode,
		MaxNoOfPodsToEvictPerNamespace: old.MaxNoOfPodsToEvictPerNamespace,
	}
	_, errs := parseNodeSelector(f.src.prefix.Child("nodeSelector"), old.NodeSelector)
	f.invalid(errs)
	path := f.src.prefix.Child("strategies")
	for _, name := range inFileOrder(f.src, path, old.Strategies) {
		s, at := old.Strategies[name], path.Key(name)
		plugin, ok := strategy.LookupPlugin(name)
		switch {
		case !s.Enabled:
			f.warn(at, "not carried over: the strategy is not enabled")
		case !ok:
			f.problem(at, "there is no strategy %q%s", name, didYouMean(name, pluginNames()))
		default:
			doc.Profiles = append(doc.Profiles, convertStrategy(f, at, plugin, old))
		}
	}
	if len(old.Strategies) == 0 && len(f.problems) == 0 {
		f.problem(path, "there are no strategies to convert")
	}
	return doc
}

// checkConverted holds the new document to all that Load asks of it, and gives what that finds the paths of the old one. What is known to be
// wrong already would only be said twice.
func checkConverted(f *findings, doc *Document) {
	if doc == nil || len(f.problems) > 0 {
		return
	}
	text, err := doc.YAML()
	if err == nil {
		_, _, err = Load(f.src.name, text)
	}
	var refused *Error
	switch {
	case errors.As(err, &refused):
		for _, p := range refused.Problems {
			f.problem(doc.oldPath(f.src.prefix, p.Path), "%s", p.Message)
		}
	case err != nil:
		f.problem(f.src.prefix, "%v", err)
	}
}

// oldPath is where in a policy of v1alpha1 that came from which is at a path of the converted one: its strategy, or the field of the same name.
func (d *Document) oldPath(prefix *field.Path, path string) *field.Path {
	for i, p := range d.Profiles {
		if strings.HasPrefix(path, field.NewPath("profiles").Index(i).String()) {
			return prefix.Child("strategies").Key(slices.Concat(p.Plugins.Deschedule.Enabled, p.Plugins.Balance.Enabled)[0]).Child("params")
		}
	}
	if path == "" {
		return prefix
	}
	return prefix.Child(path)
}

// decodeOld returns the old document without what does not fit, or nil.
func decodeOld(f *findings) *oldDocument {
	if f.src.value["kind"] != Kind {
		f.problem(f.src.prefix.Child("kind"), "expected %q, got %s", Kind, describe(f.src.value["kind"]))
		return nil
	}
	switch version := f.src.value["apiVersion"]; version {
	case OldAPIVersion:
	case APIVersion:
		f.problem(f.src.prefix.Child("apiVersion"), "%s needs no conversion", APIVersion)
		return nil
	default:
		f.problem(f.src.prefix.Child("apiVersion"), "expected %q, got %s", OldAPIVersion, describe(version))
		return nil
	}
	warnTwice(f)
	shape{
		unknown: func(path *field.Path, key string, _ map[string]any, t reflect.Type) {
			f.warn(path, "not carried over: unknown to v1alpha1, which ignored it%s", oldHint(key, t))
		},
		wrong: func(path *field.Path, message string) { f.problem(path, "%s", message) },
	}.check(f.src.prefix, f.src.value, reflect.TypeFor[oldDocument]())
	old := &oldDocument{}
	raw, err := json.Marshal(f.src.value)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, old)
	}
	if err != nil {
		f.problem(f.src.prefix, "%v", err)
		return nil
	}
	return old
}

// warnTwice names the keys that were given twice, a strategy's for one: v1alpha1 took the last.
func warnTwice(f *findings) {
	for _, p := range f.twice() {
		p.Message += ", the last one counts"
		f.warnings = append(f.warnings, Warning(p))
	}
}

// oldHint says where a key that v1alpha1 did not know has its place.
func oldHint(key string, t reflect.Type) string {
	switch {
	case slices.Contains(fieldNames(reflect.TypeFor[Document]()), key):
		return fmt.Sprintf("; %s knows it at the top, add it there if it is wanted", APIVersion)
	case t == reflect.TypeFor[oldDocument]() && slices.Contains(argNames(EvictorName), key):
		return fmt.Sprintf("; %s knows it in the args of %s, add it there if it is wanted", APIVersion, EvictorName)
	}
	if hint := didYouMean(key, fieldNames(t)); hint != "" {
		return hint
	}
	for _, name := range fieldNames(reflect.TypeFor[oldParams]()) {
		group := fieldsOf(reflect.TypeFor[oldParams]())[name].Type
		if group.Kind() == reflect.Struct && slices.Contains(fieldNames(group), key) {
			return fmt.Sprintf(", it belonged into params.%s", name)
		}
	}
	if slices.Contains(fieldNames(reflect.TypeFor[oldParams]()), key) {
		return ", it belonged into params of a strategy"
	}
	return ""
}

// inFileOrder returns the names of strategies by the lines they are on.
func inFileOrder(src *source, path *field.Path, m map[string]oldStrategy) []string {
	names := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(src.lineOf(path.Key(a).String()), src.lineOf(path.Key(b).String()))
	})
	return names
}

// convertStrategy makes the profile of one strategy, and holds its arguments to
// what the strategy needs.
func convertStrategy(f *findings, path *field.Path, plugin strategy.Plugin, old *oldDocument) DocumentProfile {
	params, at := old.Strategies[plugin.Name].Params, path.Child("params")
	warnUnreadParams(f, at, plugin.Name)
	evictor := convertEvictor(plugin.Name, old)
	args := convertParams(plugin, params)
	profile := DocumentProfile{Name: "strategy-" + plugin.Name + "-profile"}
	for _, c := range []config{{name: EvictorName, args: evictor}, {name: plugin.Name, args: args}} {
		entry, err := entryOf(c)
		if err != nil {
			f.problem(path, "%v", err)
		}
		if c.name != EvictorName || entry.Args != nil {
			profile.PluginConfig = append(profile.PluginConfig, entry)
		}
		c.args.SetDefaults()
		f.invalid(underOldNames(c.args.Validate(at)))
	}
	set := PluginSet{Enabled: []string{plugin.Name}}
	if plugin.Point == strategy.Balance {
		profile.Plugins.Balance = set
	} else {
		profile.Plugins.Deschedule = set
	}
	return profile
}

// underOldNames makes the paths of problems those of v1alpha1 where it called
// things differently.
func underOldNames(errs field.ErrorList) field.ErrorList {
	names := strings.NewReplacer(
		"params.evictableNamespaces", "params.namespaces",
		"params.priorityThreshold.value", "params.thresholdPriority",
		"params.priorityThreshold", "params.thresholdPriority",
		"params.thresholds", "params.nodeResourceUtilizationThresholds.thresholds",
		"params.targetThresholds", "params.nodeResourceUtilizationThresholds.targetThresholds",
		"params.podRestartThreshold", "params.podsHavingTooManyRestarts.podRestartThreshold",
		"params.states", "params.podLifeTime.states",
	)
	for _, e := range errs {
		e.Field = names.Replace(e.Field)
	}
	return errs
}

// entryOf writes a pluginConfig entry, without args if none are set.
func entryOf(c config) (PluginConfig, error) {
	raw, err := json.Marshal(c.args)
	if err != nil || string(raw) == "{}" {
		raw = nil
	}
	return PluginConfig{Name: c.name, Args: raw}, err
}

// warnUnreadParams names the parameters that a strategy was given and never read.
func warnUnreadParams(f *findings, path *field.Path, name string) {
	read := append(oldParamsOf(name), "thresholdPriority", "thresholdPriorityClassName")
	if name != "PodLifeTime" {
		read = append(read, "nodeFit")
	}
	strategies, _ := f.src.value["strategies"].(map[string]any)
	s, _ := strategies[name].(map[string]any)
	params, _ := s["params"].(map[string]any)
	known := fieldNames(reflect.TypeFor[oldParams]())
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if slices.Contains(known, key) && !slices.Contains(read, key) {
			f.warn(path.Child(key), "not carried over: %s had no such parameter", name)
		}
	}
	if group, _ := params["nodeResourceUtilizationThresholds"].(map[string]any); name == "HighNodeUtilization" {
		for _, key := range []string{"targetThresholds", "useDeviationThresholds"} {
			if _, ok := group[key]; ok {
				f.warn(path.Child("nodeResourceUtilizationThresholds", key), "not carried over: %s has no such argument", name)
			}
		}
	}
}

func convertEvictor(name string, old *oldDocument) *EvictorArgs {
	params := old.Strategies[name].Params
	args := &EvictorArgs{
		NodeFit:                 params.NodeFit && name != "PodLifeTime",
		EvictLocalStoragePods:   old.EvictLocalStoragePods,
		EvictSystemCriticalPods: old.EvictSystemCriticalPods,
		IgnorePvcPods:           old.IgnorePvcPods,
		EvictFailedBarePods:     old.EvictFailedBarePods,
	}
	if params.ThresholdPriority != nil || params.ThresholdPriorityClassName != "" {
		args.PriorityThreshold = &PriorityThreshold{Value: params.ThresholdPriority, Name: params.ThresholdPriorityClassName}
	}
	return args
}

func convertParams(plugin strategy.Plugin, p oldParams) strategy.Args {
	args := plugin.NewArgs()
	switch a := args.(type) {
	case *strategy.HighNodeUtilizationArgs:
		u := p.NodeResourceUtilizationThresholds
		a.Thresholds, a.NumberOfNodes, a.EvictableNamespaces = u.Thresholds, u.NumberOfNodes, p.Namespaces
	case *strategy.LowNodeUtilizationArgs:
		u := p.NodeResourceUtilizationThresholds
		a.UseDeviationThresholds, a.Thresholds, a.TargetThresholds = u.UseDeviationThresholds, u.Thresholds, u.TargetThresholds
		a.NumberOfNodes, a.EvictableNamespaces = u.NumberOfNodes, p.Namespaces
	case *strategy.PodLifeTimeArgs:
		a.Namespaces, a.LabelSelector = p.Namespaces, p.LabelSelector
		a.MaxPodLifeTimeSeconds = p.PodLifeTime.MaxPodLifeTimeSeconds
		a.States = slices.Concat(p.PodLifeTime.States, p.PodLifeTime.PodStatusPhases)
	case *strategy.RemoveDuplicatesArgs:
		a.Namespaces, a.ExcludeOwnerKinds = p.Namespaces, p.RemoveDuplicates.ExcludeOwnerKinds
	case *strategy.RemoveFailedPodsArgs:
		a.Namespaces, a.LabelSelector = p.Namespaces, p.LabelSelector
		a.ExcludeOwnerKinds, a.MinPodLifetimeSeconds = p.FailedPods.ExcludeOwnerKinds, p.FailedPods.MinPodLifetimeSeconds
		a.Reasons, a.IncludingInitContainers = p.FailedPods.Reasons, p.FailedPods.IncludingInitContainers
	case *strategy.RemovePodsHavingTooManyRestartsArgs:
		a.Namespaces, a.LabelSelector = p.Namespaces, p.LabelSelector
		a.PodRestartThreshold = p.PodsHavingTooManyRestarts.PodRestartThreshold
		a.IncludingInitContainers = p.PodsHavingTooManyRestarts.IncludingInitContainers
	case *strategy.RemovePodsViolatingInterPodAntiAffinityArgs:
		a.Namespaces, a.LabelSelector = p.Namespaces, p.LabelSelector
	case *strategy.RemovePodsViolatingNodeAffinityArgs:
		a.Namespaces, a.LabelSelector, a.NodeAffinityType = p.Namespaces, p.LabelSelector, p.NodeAffinityType
	case *strategy.RemovePodsViolatingNodeTaintsArgs:
		a.Namespaces, a.LabelSelector = p.Namespaces, p.LabelSelector
		a.IncludePreferNoSchedule, a.ExcludedTaints = p.IncludePreferNoSchedule, p.ExcludedTaints
	case *strategy.RemovePodsViolatingTopologySpreadConstraintArgs:
		a.Namespaces, a.LabelSelector = p.Namespaces, p.LabelSelector
		if p.IncludeSoftConstraints {
			a.Constraints = []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}
		}
	}
	return args
}

// YAML renders the document with its fields in the order of the types.
func (d *Document) YAML() ([]byte, error) { return renderYAML(d) }

func renderYAML(document any) ([]byte, error) {
	asJSON, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("rendering the policy: %w", err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(asJSON, &root); err != nil {
		return nil, fmt.Errorf("rendering the policy: %w", err)
	}
	plainStyle(&root)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&root); err != nil {
		return nil, fmt.Errorf("rendering the policy: %w", err)
	}
	return out.Bytes(), nil
}

// plainStyle makes flow style and quotes, which JSON is read as, block style and
// quotes only where they are needed.
func plainStyle(n *yaml.Node) {
	n.Style = 0
	// YAML 1.1, which Kubernetes reads, takes more words for booleans than the
	// encoder knows.
	if n.Tag == "!!str" && isOldBool(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		plainStyle(c)
	}
}

func isOldBool(s string) bool {
	return slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(s))
}
