package fit

import (
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// tally keeps what was found about nodes, in codes, and counts the codes. The empty code, which stands for no obstacle, is the first.
type tally struct {
	codes  []uint8 // by node index: a position in names, or unasked
	names  []string
	counts []int // by position in names
}

const unasked = 255

func newTally(nodes int) tally {
	t := tally{codes: make([]uint8, nodes), names: []string{""}, counts: []int{0}}
	t.forget()
	return t
}

func (t *tally) forget() {
	for i := range t.codes {
		t.codes[i] = unasked
	}
	clear(t.counts)
}

// set is told what was found about a node.
func (t *tally) set(index int, code string) {
	if was := t.codes[index]; was != unasked {
		t.counts[was]--
	}
	i := slices.Index(t.names, code)
	if i < 0 {
		i = len(t.names)
		t.names, t.counts = append(t.names, code), append(t.counts, 0)
	}
	t.codes[index] = uint8(i)
	t.counts[i]++
}

// besides is how many nodes other than own there are with the i-th name.
func (t *tally) besides(own *cluster.Node, i int) int {
	if own != nil && t.codes[own.Index] == uint8(i) {
		return t.counts[i] - 1
	}
	return t.counts[i]
}

// countsBesides is how many nodes other than own there are with each code.
func (t *tally) countsBesides(own *cluster.Node) map[string]int {
	counts := make(map[string]int, len(t.names))
	for i, name := range t.names {
		counts[name] = t.besides(own, i)
	}
	return counts
}
