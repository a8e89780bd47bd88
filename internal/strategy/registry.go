package strategy

import "fmt"

// New builds the strategy of that name with its arguments, which must be of the type that its plugin makes, defaulted and valid.
// The error names a plugin that is not there.
func New(name string, args Args) (Strategy, error) {
	switch a := args.(type) {
	case *RemoveDuplicatesArgs:
		return newRemoveDuplicates(a)
	case *PodLifeTimeArgs:
		return newPodLifeTime(a)
	case *RemoveFailedPodsArgs:
		return newRemoveFailedPods(a)
	case *RemovePodsHavingTooManyRestartsArgs:
		return newTooManyRestarts(a)
	case *RemovePodsViolatingNodeAffinityArgs:
		return newNodeAffinity(a)
	case *RemovePodsViolatingNodeTaintsArgs:
		return newNodeTaints(a)
	case *LowNodeUtilizationArgs:
		return newLowNodeUtilization(a)
	case *HighNodeUtilizationArgs:
		return newHighNodeUtilization(a)
	case *RemovePodsViolatingTopologySpreadConstraintArgs:
		return newTopologySpread(a)
	case *RemovePodsViolatingInterPodAntiAffinityArgs:
		return newInterPodAntiAffinity(a)
	default:
		return nil, fmt.Errorf("strategy %q is not built yet", name)
	}
}
