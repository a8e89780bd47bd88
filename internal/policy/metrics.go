package policy

import (
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/strategy"
)

// MetricsCollector switches on the metrics.k8s.io API, deprecated in favour of a
// MetricsProvider.
type MetricsCollector struct {
	// Enabled excludes every MetricsProvider.
	Enabled bool `json:"enabled,omitempty"`
}

// MetricsProvider is a place that measured usage comes from. There is at most
// one of each source.
type MetricsProvider struct {
	// Source is KubernetesMetrics or Prometheus.
	Source strategy.MetricsSource `json:"source,omitempty"`
	// Prometheus is required for source Prometheus.
	Prometheus *Prometheus `json:"prometheus,omitempty"`
}

// Prometheus says how to reach a Prometheus server.
type Prometheus struct {
	// URL is the base URL of the server. Required.
	URL string `json:"url,omitempty"`
	// AuthToken is where the bearer token is; nil means the token of the
	// service account that the program runs with.
	AuthToken *AuthToken `json:"authToken,omitempty"`
}

// AuthToken points at a bearer token.
type AuthToken struct {
	// SecretReference names the Secret. Required.
	SecretReference *SecretReference `json:"secretReference,omitempty"`
}

// SecretReference names a Secret that holds a token. Both fields are required.
type SecretReference struct {
	// Namespace is where the Secret is. Required.
	Namespace string `json:"namespace,omitempty"`
	// Name is what the Secret is called. Required.
	Name string `json:"name,omitempty"`
}

func validateMetrics(path *field.Path, doc *Document) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("metricsProviders")
	if doc.MetricsCollector != nil && doc.MetricsCollector.Enabled && len(doc.MetricsProviders) > 0 {
		errs = append(errs, field.Forbidden(at, "cannot be combined with metricsCollector.enabled"))
	}
	var seen []strategy.MetricsSource
	for i, p := range doc.MetricsProviders {
		if slices.Contains(seen, p.Source) {
			errs = append(errs, field.Duplicate(at.Index(i).Child("source"), p.Source))
		}
		seen = append(seen, p.Source)
		if p.Source == strategy.PrometheusMetrics {
			errs = append(errs, validatePrometheus(at.Index(i).Child("prometheus"), p.Prometheus)...)
		}
	}
	return errs
}

func validatePrometheus(path *field.Path, p *Prometheus) field.ErrorList {
	if p == nil {
		return field.ErrorList{field.Required(path, "source Prometheus needs it")}
	}
	var errs field.ErrorList
	if p.URL == "" {
		errs = append(errs, field.Required(path.Child("url"), "source Prometheus needs it"))
	} else if _, err := url.Parse(p.URL); err != nil {
		errs = append(errs, field.Invalid(path.Child("url"), p.URL, err.Error()))
	}
	if p.AuthToken == nil {
		return errs
	}
	switch ref, at := p.AuthToken.SecretReference, path.Child("authToken", "secretReference"); {
	case ref == nil:
		errs = append(errs, field.Required(at, "authToken needs it"))
	case ref.Namespace == "" || ref.Name == "":
		errs = append(errs, field.Required(at, "set both namespace and name"))
	}
	return errs
}
