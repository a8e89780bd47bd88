package policy

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/strategy"
)

// lintArgs warns of arguments that a plugin takes and makes nothing of.
func lintArgs(f *findings, c config, doc *Document) {
	path := c.path.Child("args")
	lintNamespaces(f, path, c.args)
	switch args := c.args.(type) {
	case *EvictorArgs:
		lintEvictor(f, path, args)
	case *strategy.HighNodeUtilizationArgs:
		lintThresholds(f, path.Child("thresholds"), args.Thresholds, "")
		lintNumberOfNodes(f, path, args.NumberOfNodes)
	case *strategy.LowNodeUtilizationArgs:
		lintThresholds(f, path.Child("thresholds"), args.Thresholds, args.UsageSource())
		lintNumberOfNodes(f, path, args.NumberOfNodes)
		lintMeasurements(f, path, args, doc)
	case *strategy.PodLifeTimeArgs:
		lintConditions(f, path.Child("conditions"), args.Conditions)
	case *strategy.RemovePodsViolatingNodeAffinityArgs:
		known := []string{strategy.NodeAffinityRequired, strategy.NodeAffinityPreferred}
		for i, t := range args.NodeAffinityType {
			if !slices.Contains(known, t) {
				f.warn(path.Child("nodeAffinityType").Index(i), "%q does nothing: there are %s", t, strings.Join(known, " and "))
			}
		}
	case *strategy.RemovePodsViolatingNodeTaintsArgs:
		lintTaints(f, path, args)
	}
}

// lintNamespaces warns of names that no namespace can have: they are compared as they stand, so a pattern protects nothing and selects nothing.
func lintNamespaces(f *findings, path *field.Path, args strategy.Args) {
	if args == nil {
		return
	}
	v := reflect.ValueOf(args).Elem()
	for name, at := range fieldsOf(v.Type()) {
		n, ok := v.FieldByIndex(at.Index).Interface().(*strategy.Namespaces)
		if !ok || n == nil {
			continue
		}
		for _, list := range []struct {
			name  string
			names []string
		}{{"include", n.Include}, {"exclude", n.Exclude}} {
			for i, namespace := range list.names {
				if len(validation.IsDNS1123Label(namespace)) > 0 && !isTemplate(namespace) {
					f.warn(path.Child(name, list.name).Index(i),
						"no namespace can be called %q: expected a name such as kube-system, patterns are not known here", namespace)
				}
			}
		}
	}
}

// lintThresholds warns of resources that no node can have: those without a slash are Kubernetes' own, and these are all there are.
func lintThresholds(f *findings, path *field.Path, t strategy.Thresholds, source strategy.MetricsSource) {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		n := string(name)
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage:
			continue
		case strategy.MetricResource:
			if source != strategy.PrometheusMetrics {
				f.warn(path.Key(n), "no node has the resource %s unless metricsUtilization.source is %s", n, strategy.PrometheusMetrics)
			}
			continue
		}
		ofKubernetes := strings.HasPrefix(n, corev1.ResourceHugePagesPrefix) || strings.HasPrefix(n, corev1.ResourceAttachableVolumesPrefix)
		switch {
		case !strings.Contains(n, "/") && !ofKubernetes:
			f.warn(path.Key(n), "there is no resource %q: cpu, memory, pods, ephemeral-storage, or an extended one such as example.com/gpu", n)
		case len(validation.IsQualifiedName(n)) > 0:
			f.warn(path.Key(n), "no resource can be called %q: expected a name such as example.com/gpu", n)
		}
	}
}

func lintNumberOfNodes(f *findings, path *field.Path, n int) {
	if n < 0 {
		f.warn(path.Child("numberOfNodes"), "%d is the same as 0: expected a number of nodes", n)
	}
}

func lintConditions(f *findings, path *field.Path, conditions []strategy.PodConditionFilter) {
	known := []string{"", string(corev1.ConditionTrue), string(corev1.ConditionFalse), string(corev1.ConditionUnknown)}
	for i, c := range conditions {
		if !slices.Contains(known, c.Status) {
			f.warn(path.Index(i).Child("status"), "no condition has the status %q: there are %s", c.Status, strings.Join(known[1:], ", "))
		}
	}
}

func lintTaints(f *findings, path *field.Path, a *strategy.RemovePodsViolatingNodeTaintsArgs) {
	var included []string
	if a.IncludedTaints != nil {
		included = *a.IncludedTaints
	}
	if a.IncludedTaints != nil && len(included) == 0 {
		f.warn(path.Child("includedTaints"), "a list without entries means no taint, so nothing is evicted; leave it out for all")
	}
	for _, list := range []struct {
		name   string
		taints []string
	}{{"includedTaints", included}, {"excludedTaints", a.ExcludedTaints}} {
		for i, t := range list.taints {
			key, value, valued := strings.Cut(t, "=")
			switch at := path.Child(list.name).Index(i); {
			case len(validation.IsQualifiedName(key)) > 0:
				f.warn(at, "no taint can have the key %q: expected key or key=value", key)
			case valued && value == "":
				f.warn(at, "%q names no taint: one without value is named by its key alone, %q", t, key)
			}
		}
	}
}

// lintMeasurements warns of sources that nobody can be asked for, and of what they do not measure.
func lintMeasurements(f *findings, path *field.Path, a *strategy.LowNodeUtilizationArgs, doc *Document) {
	at, source := path.Child("metricsUtilization"), a.UsageSource()
	hasProvider := slices.ContainsFunc(doc.MetricsProviders, func(p MetricsProvider) bool { return p.Source == source })
	switch source {
	case strategy.KubernetesMetrics:
		if !hasProvider && (doc.MetricsCollector == nil || !doc.MetricsCollector.Enabled) {
			f.warn(at, "the strategy will not run on a live cluster: metricsProviders at the top of the policy does not list %s", source)
		}
		for _, name := range slices.Sorted(maps.Keys(a.Thresholds)) {
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourcePods {
				f.warn(path.Child("thresholds").Key(string(name)), "%s measures cpu and memory only, and counts pods: without the others no node's usage is known", source)
			}
		}
	case strategy.PrometheusMetrics:
		if m := a.MetricsUtilization; m != nil && m.Prometheus != nil && m.Prometheus.Query != "" && strings.TrimSpace(m.Prometheus.Query) == "" {
			f.warn(at.Child("prometheus", "query"), "%q is no query, so no node's usage is known", m.Prometheus.Query)
		}
		if !hasProvider {
			f.warn(at, "the strategy will not run: metricsProviders at the top of the policy names no %s to ask", source)
		}
	}
}

// lintProviders warns of providers that nobody can ask.
func lintProviders(f *findings, path *field.Path, providers []MetricsProvider) {
	for i, m := range providers {
		at := path.Index(i)
		switch {
		case m.Source != strategy.KubernetesMetrics && m.Source != strategy.PrometheusMetrics:
			f.warn(at.Child("source"), "%q is ignored: there are %s and %s", m.Source, strategy.KubernetesMetrics, strategy.PrometheusMetrics)
		case m.Prometheus != nil && m.Prometheus.URL != "" && !webAddress(m.Prometheus.URL):
			f.warn(at.Child("prometheus", "url"), "%q can't be asked: expected an address such as https://prometheus.example:9090", m.Prometheus.URL)
		}
	}
}

// webAddress reports whether a client of HTTP can connect to the address.
func webAddress(address string) bool {
	u, err := url.Parse(address)
	return err != nil || (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" // an address with a mistake is an error already
}
