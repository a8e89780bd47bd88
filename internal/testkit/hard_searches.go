package testkit

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/engine"
)

// hardSearches are hard on those that look for a node: nodes have room, but not for this pod, or it is far away.
func hardSearches() []HardCluster {
	return []HardCluster{
		{Name: "no room: each node has the more cpu left the less memory, in no order", Policy: drainPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.opposed(n)
			for i := range 30 * n {
				at := i % (n / 2)
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d cpu=%dm mem=%dMi", i, at, i/10, 1000*at+500, 1024*(n/2-at)+1+i/10)
			}
		}},
		{Name: "room for every second pod: each node has the more cpu left the less memory, in no order", Policy: drainPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.opposed(n)
			for i := range 30 * n {
				at := i % (n / 2)
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d cpu=%dm mem=%dMi", i, at, i/10, []int{1, 1000*at + 500}[i%2], []int{1, 1024*(n/2-at) + 1}[i%2]+i/10)
			}
		}},
		{Name: "large and small pods by turns, room for the large on the last node alone", Nodes: 400, Policy: drainPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.leave(n, "cpu=4 pods=1000")
			w.add("node zz cpu=4000000 mem=0 pods=100000")
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d %s", i, i%(n/2), i/10, []string{"cpu=1m mem=1Mi", fmt.Sprintf("cpu=%dm", 4001+i/10)}[i%2])
			}
		}},
		{Name: "large and small pods that refuse to share a node with a daemon, by turns", Nodes: 400, Policy: drainPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.leave(n, "cpu=4 pods=1000")
			w.add("node zz cpu=4000000 mem=0 pods=100000")
			w.add("pod ns/d node=n0 owner=DaemonSet/d labels=app=d cpu=10m")
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d anti=kubernetes.io/hostname:app=d %s", i, i%(n/2), i/10, []string{"cpu=1m mem=1Mi", fmt.Sprintf("cpu=%dm", 4001+i/10)}[i%2])
			}
		}},
		{Name: "one workload with a spread over zones, every second pod with a host port that is taken", Nodes: 200, Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, roomy)
			for i := range n / 2 {
				w.add("pod ns/d%d node=n%d hostport=80 cpu=10m", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:100000:app=w %s", i, i%(n/2), []string{"", "hostport=80"}[i/(n/2)%2])
			}
		}},
		{Name: "one workload in one zone, two nodes with room in each of the others", Nodes: 400, Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4000 pods=100000")
			for i := range n {
				if i%3 > 0 && i >= 6 && i/3 != n/6 {
					w.add("pod ns/f%d node=n%d cpu=4000", i, i)
				}
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:1:app=w", i, i%(n/3)*3)
			}
		}},
		{Name: "one workload in one zone, spread over zones and hosts, two nodes with room in each of the others", Nodes: 400, Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4000 pods=100000")
			for i := range n {
				if i%3 > 0 && i >= 6 && i/3 != n/6 {
					w.add("pod ns/f%d node=n%d cpu=4000", i, i)
				}
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:1:app=w spread=kubernetes.io/hostname:1:app=w:ScheduleAnyway", i, i%(n/3)*3)
			}
		}},
		{Name: "many workloads in one zone, of many sizes, two nodes with room in each of the others", Nodes: 400, Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4000 pods=100000")
			for i := range n {
				if i%3 > 0 && i >= 6 && i/3 != n/6 {
					w.add("pod ns/f%d node=n%d cpu=4000", i, i)
				}
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w%d cpu=%dm spread=zone:1:app=w%d", i, i%(n/3)*3, i/10, i/10, 10+i/10, i/10)
			}
		}},
		{Name: "one workload in one zone, each pod of another size, no room in the others", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4000 pods=100000")
			for i := range n {
				if i%3 > 0 {
					w.add("pod ns/f%d node=n%d cpu=4000", i, i)
				}
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=%dm spread=zone:1:app=w", i, i%(n/3)*3, 10+i)
			}
		}},
		{Name: "one workload in one zone, each pod of another size, daemons that it refuses to share a node with in the others", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4000 pods=100000")
			for i := range n {
				if i%3 > 0 {
					w.add("pod ns/d%d node=n%d owner=DaemonSet/d labels=app=d cpu=10m", i, i)
				}
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=%dm spread=zone:1:app=w anti=kubernetes.io/hostname:app=d", i, i%(n/3)*3, 10+i)
			}
		}},
		{Name: "each pod of another size, and a daemon on each node that none may share one with", Policy: oldPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4000 pods=100000")
			for i := range n {
				w.add("pod ns/d%d node=n%d owner=DaemonSet/d labels=app=d cpu=10m", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=%dm anti=kubernetes.io/hostname:app=d", i, i%n, 10+i)
			}
		}},
		{Name: "measured pods, the targets full by what their pods request", Policy: lowPolicy + "  metricsUtilization: {source: KubernetesMetrics}\n", lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range n {
				w.add("nodemetrics n%d cpu=%dm mem=1Gi", i, []int{3900, 100}[i%2])
				if i%2 == 1 {
					w.add("pod ns/f%d node=n%d cpu=4", i, i)
				}
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=%dm", i, i%(n/2)*2, i/10, 10+i/10)
				w.add("podmetrics ns/p%d cpu=%dm mem=1Mi", i, 5+i%97)
			}
		}},
		{Name: "every workload of another size, and a host port that is taken on all under-used nodes", Nodes: 400, Policy: lowPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=400 pods=1000")
			for i := range n / 2 {
				w.add("pod ns/d%d node=n%d hostport=80 cpu=10m", i, n/2+i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=%dm hostport=80", i, i%(n/2), i/10, 5000+i/10)
			}
		}},
		{Name: "preferred anti-affinity of many workloads, all better nodes full", Policy: antiPolicy, Extras: engine.Extras{PreferredAntiAffinity: true}, lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range n / 2 {
				w.add("pod ns/f%d node=n%d cpu=4", i, 2*i+1)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w cpu=%dm antipref=5:kubernetes.io/hostname:app=w", i, i%(n/2)*2, i/10, 10+i/10)
			}
		}},
	}
}

// opposed adds tainted nodes, t0 and so on, and as many others, of which each has the more cpu left the less memory: m of cpu where it has n/2-1-m
// of memory, in GiB.
func (w *lines) opposed(n int) {
	w.leave(n, "cpu=10000 mem=10000Gi pods=1000")
	for i := range n / 2 {
		m := i * 7919 % (n / 2)
		w.add("pod ns/f%d node=n%d cpu=%d mem=%dGi", i, i, 10000-m, 10000-(n/2-1-m))
	}
}
