package testkit

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/engine"
)

// hardPending are hard on booking room for pods that wait to be scheduled.
func hardPending() []HardCluster {
	waiting := engine.Extras{PendingPods: true}
	list := []HardCluster{
		{Name: "waiting pods that fit nowhere", Policy: restartPolicy, Extras: waiting, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4")
			for i := range 30 * n {
				w.add("pod ns/p%d owner=ReplicaSet/w%d labels=app=w%d cpu=%dm phase=Pending spread=zone:1:app=w%d", i, i/10, i/10, 5000+i, i/10)
			}
		}},
		{Name: "waiting pods of one workload with a hard spread", Policy: restartPolicy, Extras: waiting, lines: func(w *lines, n int) {
			w.nodes(n, "cpu=4")
			for i := range 30 * n {
				w.add("pod ns/p%d owner=ReplicaSet/w labels=app=w cpu=10m phase=Pending spread=kubernetes.io/hostname:1:app=w", i)
			}
		}},
		{Name: "waiting pods, each of another size, with a host port that is taken", Policy: restartPolicy, Extras: waiting, lines: func(w *lines, n int) {
			w.nodes(n, roomy)
			for i := range n {
				w.add("pod ns/d%d node=n%d hostport=80 cpu=10m", i, i)
			}
			for i := range 30 * n {
				w.add("pod ns/p%d owner=ReplicaSet/w%d cpu=%dm phase=Pending hostport=80", i, i/10, 10+i)
			}
		}},
	}
	zone, rack := func(node int) int { return node % 3 }, func(node int) int { return node / 10 }
	for _, spread := range []struct {
		over, words string
		domain      func(node int) int
		nodes       int
	}{
		{"zones", "spread=zone:1:app=w", zone, 400},
		{"zones and hosts", "spread=zone:1:app=w spread=kubernetes.io/hostname:5:app=w", zone, 400},
		// where the effort is used up, in both sizes
		{"racks", "spread=rack:1:app=w", rack, 4000},
		{"zones and racks", "spread=zone:1:app=w spread=rack:1:app=w", rack, 4000},
	} {
		list = append(list, HardCluster{
			Name:   fmt.Sprintf("waiting pods of one workload spread over %s, every second a large one, each of another size, with room in a third of these alone", spread.over),
			Policy: restartPolicy, Extras: waiting, Nodes: spread.nodes, lines: func(w *lines, n int) {
				for i := range n {
					w.add("node n%d labels=zone=z%d,rack=r%d cpu=%d pods=3000", i, zone(i), rack(i), []int{4000, 2, 2}[spread.domain(i)%3])
				}
				for i := range 3 * n {
					w.add("pod ns/p%05d owner=ReplicaSet/w labels=app=w cpu=%dm phase=Pending %s", i, []int{3000 + i, 10}[i%2], spread.words)
				}
			},
		})
	}
	return list
}
