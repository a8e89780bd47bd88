package testkit

// hardOwners are hard on what looks at replicas, and at how much nodes are used.
func hardOwners() []HardCluster {
	return []HardCluster{
		{Name: "one owner of all pods, on half of the nodes", Policy: "RemoveDuplicates\n" + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w cpu=10m", i, i%(n/2))
			}
		}},
		{Name: "one owner of all pods, the other half of the nodes full", Policy: "RemoveDuplicates\n", lines: func(w *lines, n int) {
			w.nodes(n, "pods=62")
			for i := range n / 2 {
				w.add("pod ns/f%d-{1..62} node=n%d", i, n/2+i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w cpu=10m", i, i%(n/2))
			}
		}},
		{Name: "duplicates of two with nowhere to go", Policy: "RemoveDuplicates\n" + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, "pods=30")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=10m", i, i/30, i/2)
			}
		}},
		{Name: "one node with all pods, of one owner", Policy: "RemoveDuplicates\n" + lowPolicy + oldPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=40 pods=100000")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n0 owner=ReplicaSet/w cpu=10m", i)
			}
		}},
		{Name: "one node with all pods, of one owner and each of another", Policy: "RemoveDuplicates\n", lines: func(w *lines, n int) {
			w.nodes(n, "cpu=40 pods=100000")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n0 owner=ReplicaSet/w owner=Other/w%d cpu=10m", i, i/2)
			}
		}},
		{Name: "one node with all pods, of many owners", Policy: "RemoveDuplicates\n" + lowPolicy + restartPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=40 pods=100000")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n0 owner=ReplicaSet/w%d cpu=%dm restarts=5", i, i/2, 1+i/2)
			}
		}},
		{Name: "all nodes over-used but one, pods of many sizes", Policy: lowPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=%dm", i, i%(n-1), i/10, 80+i/10%59)
			}
		}},
		{Name: "half of the nodes over-used, every workload of another size", Policy: lowPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=400 pods=1000")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=%dm", i, i%(n/2), i/10, 5000+i/10)
			}
		}},
		{Name: "pods too large for any under-used node", Policy: lowPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=400 pods=1000")
			for i := range n / 2 {
				w.add("pod ns/f%d node=n%d cpu=119", i, n/2+i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=%dm mem=%d", i, i%(n/2), i/10, 82000+i/10, i)
			}
		}},
		{Name: "many pods too large for the under-used nodes, which are small", Policy: lowPolicy, lines: func(w *lines, n int) {
			for i := range n / 2 {
				w.add("node s%d cpu=4", i)
				w.add("node n%d cpu=400", i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=%dm", i, i%(n/2), i/10, 5000+i/10)
			}
		}},
		{Name: "measured pods", Policy: lowPolicy + "  metricsUtilization: {source: KubernetesMetrics}\n", lines: func(w *lines, n int) {
			w.nodes(n, "")
			for i := range n {
				w.add("nodemetrics n%d cpu=%dm mem=1Gi", i, 4000*(i%10)/10)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=10m", i, i%n, i/10)
				w.add("podmetrics ns/p%d cpu=%dm mem=1Mi", i, 50+i%97)
			}
		}},
		{Name: "all nodes under-used but one", Policy: "HighNodeUtilization\n  thresholds: {cpu: 40}\n" + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4 pods=1000")
			w.add("pod ns/big node=n0 cpu=2")
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=%dm", i, 1+i%(n-1), i/10, 20+i/10%41)
			}
		}},
		{Name: "half of the nodes under-used, every workload of another size", Policy: "HighNodeUtilization\n  thresholds: {cpu: 40}\n", lines: func(w *lines, n int) {
			w.nodes(n, "cpu=400 pods=1000")
			for i := range n / 2 {
				w.add("pod ns/f%d node=n%d cpu=170", i, n/2+i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=%dm", i, i%(n/2), i/10, 1+i/10)
			}
		}},
	}
}
