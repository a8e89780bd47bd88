package testkit

// hardSpread are hard on topology spread.
func hardSpread() []HardCluster {
	return []HardCluster{
		{Name: "one workload spread over zones and hosts", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				at := i % n
				if i%3 == 0 {
					at = i % (n / 4)
				}
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:1:app=w spread=kubernetes.io/hostname:1:app=w:ScheduleAnyway", i, at)
			}
		}},
		{Name: "one workload spread over hosts, on half of them", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=kubernetes.io/hostname:1:app=w", i, i%(n/2))
			}
		}},
		{Name: "one workload spread over zones, all in one, with minDomains", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:1:app=w:minDomains=3", i, i%(n/3)*3)
			}
		}},
		{Name: "one workload spread over hosts, all of them full but those it is on", Policy: spreadPolicy + nodeFitOn, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range n / 2 {
				w.add("pod ns/f%d node=n%d cpu=400", i, n/2+i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=kubernetes.io/hostname:1:app=w", i, i%(n/2))
			}
		}},
		{Name: "one workload in one zone, spread over zones and hosts", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:1:app=w spread=kubernetes.io/hostname:1:app=w", i, i%(n/3)*3)
			}
		}},
		{Name: "one workload spread over hosts: a third full, a third crowded, a third free", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range n / 3 {
				w.add("pod ns/f%d node=n%d cpu=400", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=kubernetes.io/hostname:1:app=w", i, n/3+i%(n/3))
			}
		}},
		{Name: "one workload in one zone, all nodes of the others full but one", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4000 pods=100000")
			for i := range n / 3 {
				w.add("pod ns/f%d node=n%d cpu=%d", i, i*3+1, min(4000, 4000*i))
				w.add("pod ns/g%d node=n%d cpu=4000", i, i*3+2)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:1:app=w", i, i%(n/3)*3)
			}
		}},
		{Name: "one workload spread over hosts, one pod of thirty on each may move", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				prio := "2000000000"
				if i < n/2 {
					prio = "0"
				}
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m prio=%s spread=kubernetes.io/hostname:1:app=w", i, i%(n/2), prio)
			}
		}},
		{Name: "pods with labels of their own, spread over hosts", Constraints: 3, Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=StatefulSet/w%d labels=app=w%d,pod=p%d cpu=10m spread=kubernetes.io/hostname:1:app=w%d", i, i/60*2, i/10, i/10, i, i/10)
			}
		}},
		{Name: "one constraint over hosts with a matchLabelKey that differs for every ten pods", Constraints: 3, Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w,hash=h%d cpu=10m spread=kubernetes.io/hostname:1:app=w:matchLabelKeys=hash", i, i/60*2, i/10, i/10)
			}
		}},
		{Name: "a namespace for every ten pods, spread over zones", Policy: spreadPolicy, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range 30 * n {
				w.add("pod ns%d/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:1:app=w", i/10, i, i/30)
			}
		}},
	}
}
