package testkit

// Strategies are all strategies, each with the arguments that the peer's figures were measured with.
func Strategies() map[string]string {
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
