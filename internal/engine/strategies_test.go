package engine_test

import (
	"maps"
	"slices"
)

// benchStrategies are the strategies with the arguments that the peer's figures were measured with.
func benchStrategies() map[string]string {
	return map[string]string{
		"HighNodeUtilization":                         "{thresholds: {cpu: 20, memory: 20}}",
		"LowNodeUtilization":                          "{thresholds: {cpu: 20, memory: 20}, targetThresholds: {cpu: 70, memory: 70}}",
		"PodLifeTime":                                 "{maxPodLifeTimeSeconds: 604800}",
		"RemoveDuplicates":                            "{}",
		"RemoveFailedPods":                            "{}",
		"RemovePodsHavingTooManyRestarts":             "{podRestartThreshold: 10}",
		"RemovePodsViolatingInterPodAntiAffinity":     "{}",
		"RemovePodsViolatingNodeAffinity":             "{nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}",
		"RemovePodsViolatingNodeTaints":               "{}",
		"RemovePodsViolatingTopologySpreadConstraint": "{}",
	}
}

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
