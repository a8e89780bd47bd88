package testkit

import (
	"fmt"
	"math/rand/v2"
)

// hardMixes are hard on finding a node with room: each node has the more cpu left the less memory, in no order, any amount of other resources, and none has room
// for any of the pods. A table of what nodes have left can't be made for cpu and memory alone, as every eighth pod asks for much of the others.
func hardMixes() []HardCluster {
	const most = 1_000_000
	var list []HardCluster
	for kinds := 2; kinds <= 5; kinds++ {
		nodes := []int{1000, 6000, 4000, 4000}[kinds-2] // of three resources and more, where by default the effort is used up, in both sizes
		others := []string{"res/ephemeral-storage", "res/hugepages-2Mi", "res/example.com/gpu"}[:kinds-2]
		mix := func(cpu, mem int, other func() int) string {
			words := fmt.Sprintf("cpu=%dm mem=%d", cpu, mem)
			for _, name := range others {
				words += fmt.Sprintf(" %s=%d", name, other())
			}
			return words
		}
		list = append(list, HardCluster{
			Name:  fmt.Sprintf("no room: each node has another mix of %d resources left, and each pod asks for another", kinds),
			Nodes: nodes, Resources: kinds, Policy: drainPolicy + nodeFitOn, lines: func(w *lines, n int) {
				rng := rand.New(rand.NewPCG(1, uint64(kinds)))
				for i := range n / 10 {
					w.add("node t%d labels=zone=z%d taint=a=b:NoSchedule cpu=4000 mem=4000 pods=3000", i, i%3)
				}
				for i := range n - n/10 {
					cpu := rng.IntN(most)
					w.add("node n%d labels=zone=z%d pods=1000 %s", i, i%3, mix(cpu, most-cpu, func() int { return rng.IntN(most) }))
				}
				for i := range 3 * n {
					cpu := 1 + rng.IntN(most)
					w.add("pod ns/p%d node=t%d owner=ReplicaSet/w%d %s", i, i%(n/10), i/10, mix(cpu, most+1-cpu, func() int {
						if i%8 == 0 {
							return rng.IntN(most)
						}
						return 1
					}))
				}
			},
		})
	}
	return list
}
