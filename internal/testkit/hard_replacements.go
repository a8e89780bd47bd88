package testkit

// hardReplacements are hard on foresight.
func hardReplacements() []HardCluster {
	return []HardCluster{
		// what a replacement needs besides room: all pods are to leave their nodes, and something is wrong with the others
		{Name: "a soft taint on all other nodes", Policy: antiPolicy, lines: func(w *lines, n int) {
			w.nodes(n/2, roomy)
			for i := range n / 2 {
				w.add("node s%d taint=a=b:PreferNoSchedule", i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w%d cpu=%dm anti=kubernetes.io/hostname:app=w%d", i, i/10%(n/2), i/10, i/10, 10+i/10%7, i/10)
			}
		}},
		{Name: "no room, and a soft taint somewhere", Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, "cpu=4")
			w.add("node soft taint=a=b:PreferNoSchedule cpu=0")
			for i := range n / 2 {
				w.add("pod ns/f%d node=n%d cpu=4", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d cpu=%dm", i, i%(n/2), i/10, 50+i)
			}
		}},
		{Name: "a host port that is taken on all other nodes", Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, roomy)
			for i := range n / 2 {
				w.add("pod ns/d%d node=n%d hostport=80 cpu=10m", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d hostport=80 cpu=10m", i, i%(n/2), i/10)
			}
		}},
		{Name: "workloads that want to be near a pod on a full node", Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, roomy)
			w.add("pod ns/db node=n0 labels=app=db cpu=400")
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d labels=app=w,pod=p%d cpu=%dm near=kubernetes.io/hostname:app=db", i, i%(n/2), i/10, i, 1+i/10%13)
			}
		}},
		{Name: "claims of volumes that are not known, each node a zone", Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=StatefulSet/w%d labels=app=w,pod=p%d pvc=c%d", i, i%(n/2), i/10, i, i)
			}
		}},
		{Name: "one workload with a hard spread over zones", Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:1:app=w", i, i%(n/6)*3)
			}
		}},
		{Name: "one workload with a hard spread over zones, nearly even", Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:1:app=w", i, i%(n/2))
			}
		}},
		{Name: "one workload with a hard spread over hosts", Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w labels=app=w cpu=10m spread=kubernetes.io/hostname:1:app=w", i, i%(n/2))
			}
		}},
		{Name: "daemons on all other nodes that keep every workload away, by a term for each", Policy: drainPolicy, lines: func(w *lines, n int) {
			w.leave(n, roomy)
			for i := range n / 2 {
				w.add("pod ns/d%d node=n%d owner=DaemonSet/d%d anti=kubernetes.io/hostname:tier=t%d", i, i, i%20, i%20)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d labels=app=w%d,tier=t%d cpu=%dm", i, i%(n/2), i/10, i/10, i/10%20, 1+i/10%11)
			}
		}},
		{Name: "half of the pods can go, half can't, of many workloads", Policy: drainPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.leave(n, "cpu=4 pods=1000")
			for i := range 30 * n {
				w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d cpu=%dm", i, i%(n/2), i/10, []int{10, 4500 + i/10}[i/10%2])
			}
		}},
		{Name: "a rack with most pods, of one workload that may have one to a rack", Policy: antiPolicy, lines: func(w *lines, n int) {
			for i := range n / 2 {
				w.add("node n%d labels=rack=r pods=3000", i)
				w.add("node e%d labels=rack=e%d", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w,pod=p%d cpu=10m anti=rack:app=w", i, i%(n/2), i)
			}
		}},
		{Name: "a term of its own for every workload, that keeps away all others", Policy: antiPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w%d cpu=10m anti=kubernetes.io/hostname:app=w%d", i, i%n, i/10, i/10, (i/10+1)%(3*n))
			}
		}},
	}
}
