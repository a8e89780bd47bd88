package policy

import "encoding/json"

// Document is a policy as it is written in a file.
type Document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	// NodeSelector is a label selector that chooses the nodes that strategies
	// look at; empty means all.
	NodeSelector *string `json:"nodeSelector,omitempty"`
	// MaxNoOfPodsToEvictPerNode caps the evictions from one node in one cycle. nil
	// means no limit, 0 that nothing is evicted.
	MaxNoOfPodsToEvictPerNode *uint `json:"maxNoOfPodsToEvictPerNode,omitempty"`
	// MaxNoOfPodsToEvictPerNamespace caps the evictions in one namespace likewise.
	MaxNoOfPodsToEvictPerNamespace *uint `json:"maxNoOfPodsToEvictPerNamespace,omitempty"`
	// MaxNoOfPodsToEvictTotal caps all evictions of one cycle likewise.
	MaxNoOfPodsToEvictTotal *uint `json:"maxNoOfPodsToEvictTotal,omitempty"`
	// GracePeriodSeconds replaces the grace period of evicted pods; nil means the
	// pod's own. Not negative.
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`
	// EvictionFailureEventNotification makes refused evictions Events too.
	EvictionFailureEventNotification *bool `json:"evictionFailureEventNotification,omitempty"`
	// MetricsCollector is the old way to write a KubernetesMetrics provider.
	MetricsCollector *MetricsCollector `json:"metricsCollector,omitempty"`
	// MetricsProviders say where measured usage comes from.
	MetricsProviders []MetricsProvider `json:"metricsProviders,omitempty"`

	Profiles []DocumentProfile `json:"profiles,omitempty"`
}

// DocumentProfile is one entry of profiles.
type DocumentProfile struct {
	Name         string          `json:"name,omitempty"`
	PluginConfig []PluginConfig  `json:"pluginConfig,omitempty"`
	Plugins      DocumentPlugins `json:"plugins,omitzero"`
}

// PluginConfig holds the arguments of one plugin.
type PluginConfig struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

// DocumentPlugins says which plugins run at which extension point. PreSort, Sort
// and every Disabled list are read and have no effect.
type DocumentPlugins struct {
	PreSort           PluginSet `json:"presort,omitzero"`
	Sort              PluginSet `json:"sort,omitzero"`
	Deschedule        PluginSet `json:"deschedule,omitzero"`
	Balance           PluginSet `json:"balance,omitzero"`
	Filter            PluginSet `json:"filter,omitzero"`
	PreEvictionFilter PluginSet `json:"preevictionfilter,omitzero"`
}

// PluginSet is the plugins of one extension point, by name.
type PluginSet struct {
	Enabled  []string `json:"enabled,omitempty"`
	Disabled []string `json:"disabled,omitempty"`
}
