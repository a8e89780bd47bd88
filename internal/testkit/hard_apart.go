package testkit

import "evenkeel.dev/evenkeel/internal/engine"

// hardApart are hard on anti-affinity.
func hardApart() []HardCluster {
	return []HardCluster{
		{Name: "one workload that no two pods of may share a node, on all nodes", Policy: antiPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m anti=kubernetes.io/hostname:app=w", i, i%n)
			}
		}},
		{Name: "the same without node fit", Policy: antiPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m anti=kubernetes.io/hostname:app=w", i, i%n)
			}
		}},
		{Name: "pods with labels of their own that refuse to share a zone", Policy: antiPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w,pod=p%d cpu=10m anti=zone:app=w", i, i%n, i, i)
			}
		}},
		{Name: "workloads of ten pods on a node that they refuse to share", Policy: antiPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w%d cpu=10m anti=kubernetes.io/hostname:app=w%d", i, i/30, i/10, i/10, i/10)
			}
		}},
		{Name: "workloads that all refuse to share a node with a daemon", Constraints: 3, Policy: antiPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range n {
				w.add("pod ns/d%d node=n%d owner=DaemonSet/d labels=app=d cpu=10m", i, i)
			}
			for i := range 29 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w%d cpu=%dm anti=kubernetes.io/hostname:app=d", i, i%n, i/10, i/10, 1+i/10)
			}
		}},
		{Name: "preferred anti-affinity of one workload, on all nodes", Policy: antiPolicy, Extras: engine.Extras{PreferredAntiAffinity: true}, lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m antipref=5:kubernetes.io/hostname:app=w", i, i%n)
			}
		}},
		{Name: "preferred anti-affinity of many workloads, two pods to a node", Policy: antiPolicy, Extras: engine.Extras{PreferredAntiAffinity: true}, lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w%d cpu=10m antipref=5:kubernetes.io/hostname:app=w%d", i, i/30, i/10, i/10, i/10)
			}
		}},
	}
}
