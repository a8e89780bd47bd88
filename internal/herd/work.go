package herd

import (
	"crypto/sha256"
	"time"
)

// rounds is an amount of CPU work. How long one takes depends on the machine, and on what else uses its caches, as
// real work does.
type rounds uint64

// block is what one round reads.
const block = 4 << 10

// burn does the work, and stops early when stop says so.
func burn(n rounds, stop func() bool) {
	const between = 256 // looks at stop
	data := make([]byte, block)
	for i := range n {
		if i%between == 0 && stop() {
			return
		}
		sum := sha256.Sum256(data)
		copy(data, sum[:])
	}
}

// pace of this machine's work: rounds in a second of CPU time. Measured in CPU time, it comes out nearly the same on a
// busy machine. It takes about two tenths of a second of CPU time.
func calibrate() float64 {
	const (
		batch  = rounds(2000)
		enough = 200 * time.Millisecond
	)
	never := func() bool { return false }
	burn(batch, never) // warm up
	start, done := cpuTime(), rounds(0)
	for {
		burn(batch, never)
		done += batch
		if spent := cpuTime() - start; spent >= enough {
			return float64(done) / spent.Seconds()
		}
	}
}

// roundsFor is the work that takes so much CPU time.
func roundsFor(d time.Duration, perSecond float64) rounds {
	return rounds(d.Seconds() * perSecond)
}
