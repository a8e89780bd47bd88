package testkit

// hardFit are hard on node fit, filters and budgets.
func hardFit() []HardCluster {
	return []HardCluster{
		{Name: "no room for any of the pods, each of another size", Policy: oldPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4")
			for i := range n {
				w.add("pod ns/f%d node=n%d cpu=4", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=100m mem=%d", i, i%n, i/10, i)
			}
		}},
		{Name: "no room: cpu is short on every other node, memory on the rest", Policy: oldPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4 mem=4Gi")
			for i := range n {
				w.add("pod ns/f%d node=n%d %s", i, i, []string{"cpu=4", "mem=4Gi"}[i%2])
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=%dm mem=%dMi", i, i%n, i/10, 10+i/10%97, 1+i)
			}
		}},
		{Name: "every node tainted, every workload with tolerations of its own", Constraints: 3, Policy: oldPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, "taint=a=b:NoSchedule")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d tolerate=w%d", i, i%n, i/10, i/10)
			}
		}},
		{Name: "every pod bound to its node by a selector", Constraints: 1, Policy: oldPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=1m select=name=n%d", i, i%n, i/10, i%n)
			}
		}},
		{Name: "every pod bound to its node by required affinity", Constraints: 2, Policy: oldPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=1m need=name=n%d", i, i%n, i/10, i%n)
			}
		}},
		{Name: "a budget for every two pods, in one namespace", Policy: oldPolicy + restartPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 15 * n {
				w.add("pdb ns/w%d select=app=w%d allowed=1 healthy=2 desired=1", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w%d cpu=10m restarts=5", i, i%n, i/2, i/2)
			}
		}},
		{Name: "required node affinity that no node has", Policy: "RemovePodsViolatingNodeAffinity\n  nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]\n", lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=10m need=disk=d%d", i, i%n, i/10, i/10%20)
			}
		}},
		{Name: "preferred node affinity for full nodes", Policy: "RemovePodsViolatingNodeAffinity\n  nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]\n", lines: func(w *lines, n int) {
			w.nodes(n/2, roomy)
			for i := range n / 2 {
				w.add("node s%d labels=disk=ssd cpu=4", i)
				w.add("pod ns/f%d node=s%d cpu=4", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=10m prefer=5:disk=ssd", i, i%(n/2), i/10)
			}
		}},
		{Name: "tainted nodes that nobody tolerates, and no room elsewhere", Policy: "RemovePodsViolatingNodeTaints\n" + nodeFitOn, lines: func(w *lines, n int) {
			for i := range n / 2 {
				w.add("node t%d taint=a=b:NoSchedule cpu=400 pods=100", i)
				w.add("node n%d cpu=4", i)
				w.add("pod ns/f%d node=n%d cpu=4", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d cpu=%dm", i, i%(n/2), i/10, 50+i/10%71)
			}
		}},
	}
}
