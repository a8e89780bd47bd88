package testkit

import (
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/internal/engine"
)

// counting is for terms that each select all pods: as many constraints, each of which takes a step for each of the 30 pods of a node.
const counting = 30

// hardTerms are hard on terms and constraints: as many different ones as there are nodes, each of which selects the pods of all workloads, no two of which have
// the same labels.
func hardTerms() []HardCluster {
	return []HardCluster{
		{Name: "terms that each keep away the pods of all workloads", Constraints: counting, Policy: antiPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=%s,pod=p%d cpu=10m anti=kubernetes.io/hostname:%s", i, i%n, i/30, allGroups(), i, someGroups(i/30))
			}
		}},
		{Name: "terms that each would rather keep away the pods of all workloads", Constraints: counting, Policy: antiPolicy, Extras: engine.Extras{PreferredAntiAffinity: true}, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=%s,pod=p%d cpu=10m antipref=5:kubernetes.io/hostname:%s", i, i%n, i/30, allGroups(), i, someGroups(i/30))
			}
		}},
		{Name: "spread constraints that each count the pods of all workloads", Constraints: counting, Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=%s,pod=p%d cpu=10m spread=zone:1:%s", i, i%(n/2), i/30, allGroups(), i, someGroups(i/30))
			}
		}},
		{Name: "spread constraints over hosts that each count the pods of all workloads", Constraints: counting, Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=%s,pod=p%d cpu=10m spread=kubernetes.io/hostname:1:%s", i, i%(n/2), i/30, allGroups(), i, someGroups(i/30))
			}
		}},
		{Name: "terms that each ask for a pod of any workload nearby", Constraints: counting, Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d labels=%s,pod=p%d cpu=10m near=zone:%s", i, i%(n/2), i/30, allGroups(), i, someGroups(i/30))
			}
		}},
		// Terms that each concern a workload of six only, but do not say so by a single value of a label, or name no namespace.
		{Name: "spread constraints for one of two values, each pod with a label of its own", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w%d,pod=p%d cpu=10m spread=zone:1:app=w%d|none", i, i%(n/2), i/6, i/6, i, i/6)
			}
		}},
		{Name: "spread constraints for any value of a key of the workload's own", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=own-%d=x,pod=p%d cpu=10m spread=zone:1:own-%d", i, i%(n/2), i/6, i/6, i, i/6)
			}
		}},
		{Name: "anti-affinity for one of two values, each pod with a label of its own", Constraints: 5, Policy: antiPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w%d,pod=p%d cpu=10m anti=zone:app=w%d|none", i, i%n, i/6, i/6, i, i/6)
			}
		}},
		{Name: "anti-affinity over all namespaces, one for each workload", Constraints: 5, Policy: antiPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod s%d/p%d node=n%d owner=ReplicaSet/w labels=app=w%d cpu=10m anti=zone:app=w%d:*", i/6, i, i%n, i/6, i/6)
			}
		}},
		{Name: "affinity over the namespaces that have a label, one for each workload", Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, roomy)
			for i := range 30 * n {
				if i%6 == 0 {
					w.add("namespace s%d labels=team=a", i/6)
				}
				w.add("pod s%d/p%d node=t%d owner=ReplicaSet/w labels=app=w%d cpu=10m near=zone:app=w%d:team=a", i/6, i, i%(n/2), i/6, i/6)
			}
		}},
	}
}

const groups = 20

// allGroups are labels that all pods have.
func allGroups() string {
	list := make([]string, groups)
	for g := range list {
		list[g] = fmt.Sprintf("g%d=x", g)
	}
	return strings.Join(list, ",")
}

// someGroups are the three of them that tell the i-th term; there are 1140.
func someGroups(i int) string {
	for a := range groups {
		for b := range a {
			if i < b {
				return fmt.Sprintf("g%d=x,g%d=x,g%d=x", a, b, i)
			}
			i -= b
		}
	}
	return ""
}
