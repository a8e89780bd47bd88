package strategy

import "fmt"

// Plugin is a strategy as policies and cycles know it.
type Plugin struct {
	// Name is the name in policy files, such as "RemoveDuplicates".
	Name string
	// Point is the only extension point the plugin can be enabled at.
	Point Point
	// NewArgs returns a new, empty argument value: a pointer to a struct.
	NewArgs func() Args
	// New builds the strategy with its arguments, which must be of the type that NewArgs makes, defaulted and valid.
	New func(Args) (Strategy, error)
}

// Plugins returns every strategy there is, in alphabetical order. A new one is added here, and in a file of its own.
func Plugins() []Plugin {
	return []Plugin{
		define("HighNodeUtilization", Balance, newHighNodeUtilization),
		define("LowNodeUtilization", Balance, newLowNodeUtilization),
		define("PodLifeTime", Deschedule, newPodLifeTime),
		define("RemoveDuplicates", Balance, newRemoveDuplicates),
		define("RemoveFailedPods", Deschedule, newRemoveFailedPods),
		define("RemovePodsHavingTooManyRestarts", Deschedule, newTooManyRestarts),
		define("RemovePodsViolatingInterPodAntiAffinity", Deschedule, newInterPodAntiAffinity),
		define("RemovePodsViolatingNodeAffinity", Deschedule, newNodeAffinity),
		define("RemovePodsViolatingNodeTaints", Deschedule, newNodeTaints),
		define("RemovePodsViolatingTopologySpreadConstraint", Balance, newTopologySpread),
	}
}

func define[A any, P interface {
	*A
	Args
}, S Strategy](name string, point Point, build func(P) (S, error)) Plugin {
	return Plugin{
		Name: name, Point: point,
		NewArgs: func() Args { return P(new(A)) },
		New: func(args Args) (Strategy, error) {
			a, ok := args.(P)
			if !ok {
				return nil, fmt.Errorf("strategy %q can't be built with %T", name, args)
			}
			return build(a)
		},
	}
}

// LookupPlugin finds a strategy by its exact name.
func LookupPlugin(name string) (Plugin, bool) {
	for _, p := range Plugins() {
		if p.Name == name {
			return p, true
		}
	}
	return Plugin{}, false
}

// New builds the strategy of that name; see Plugin.New. The error names a plugin that is not there.
func New(name string, args Args) (Strategy, error) {
	p, ok := LookupPlugin(name)
	if !ok {
		return nil, fmt.Errorf("there is no strategy %q", name)
	}
	return p.New(args)
}
