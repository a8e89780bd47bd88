package pace_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
)

// TestInvariantsHoldForAnyInputs plays thousands of random sequences; the world checks the invariants after each input
// and that the queue comes to rest with everybody answered and every slot released.
func TestInvariantsHoldForAnyInputs(t *testing.T) {
	sequences := 4000
	if testing.Short() {
		sequences = 400
	}
	for seed := range sequences {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			inputs := make([]byte, 40+random.IntN(400))
			for i := range inputs {
				inputs[i] = byte(random.Uint32())
			}
			play(t, inputs, mode(seed%4))
		})
	}
}

// FuzzInputs is the same for sequences that the fuzzer invents.
func FuzzInputs(f *testing.F) {
	f.Add([]byte("request, done, release"), uint8(0))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, uint8(jumping))
	f.Fuzz(func(t *testing.T, inputs []byte, m uint8) {
		if len(inputs) > 2000 {
			return
		}
		play(t, inputs, mode(m%4))
	})
}

// maxAsking keeps the waits of a sequence long enough for the cap on refusals.
const maxAsking = 40

// mode is what is special about a sequence.
type mode uint8

const (
	plain    mode = iota
	plainToo      // twice as many of them
	hurried       // waits so short that the cap on refusals cannot be kept
	jumping       // a clock that jumps, so that deadlines mean nothing
)

// player turns bytes into inputs.
type player struct {
	*world
	rest []byte
	mode mode
}

func play(t *testing.T, inputs []byte, m mode) {
	t.Helper()
	p := &player{rest: inputs, mode: m}
	p.world = newWorld(t, p.config(), 4)
	p.silent = true
	p.jumped = m == jumping
	if m == jumping || m == hurried {
		p.perSecond = 0
	}
	for len(p.rest) > 0 && !t.Failed() {
		p.input()
	}
	p.drain()
}

// pick is a number below n from the next byte.
func (p *player) pick(n int) int {
	if len(p.rest) == 0 {
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return int(b) % n
}

func (p *player) config() pace.Config {
	c := pace.Config{
		Limits:      pace.Limits{MaxConcurrent: 1 + p.pick(4)},
		Attempt:     pace.Duration(30 * time.Second),
		SlotTimeout: pace.Duration(time.Minute),
		MaxWait:     pace.Duration(time.Minute),
	}
	switch p.pick(6) {
	case 0:
		c.Limits.Rate = &pace.Rate{Every: pace.Duration(3 * time.Second), Burst: 2}
	case 1:
		c.Limits.Pressure = &pace.Pressure{CPU: 80}
	case 2:
		c.Limits.Adaptive = &pace.Adaptive{}
	}
	return c
}

func (p *player) attempt() pace.Attempt {
	uid := fmt.Sprint("p", p.pick(10))
	wait := time.Duration(10+p.pick(20)) * time.Second
	if p.mode == hurried {
		wait /= 10
	}
	return pace.Attempt{
		UID: uid, Name: uid,
		Info:    pace.Info{Class: pace.Class([]int{0, 1, 1, 1, 1, 1, 2, 3}[p.pick(8)]), Priority: int32(p.pick(3))},
		Sandbox: fmt.Sprint(p.pick(2)), Network: fmt.Sprint(p.pick(2)),
		Wait:   wait,
		Spent:  time.Duration(p.pick(220)) * time.Second,
		Waited: time.Duration(p.pick(90)) * time.Second,
	}
}

func (p *player) unanswered() int {
	n := 0
	for _, a := range p.attempts {
		if !a.answered {
			n++
		}
	}
	return n
}

func (p *player) anyID() pace.AttemptID {
	if p.lastID == 0 {
		return 1
	}
	back := pace.AttemptID(p.pick(16))
	return p.lastID - min(back, p.lastID-1)
}

func (p *player) input() {
	took := time.Duration(p.pick(30)) * 100 * time.Millisecond
	switch p.pick(20) {
	default:
		if p.unanswered() < maxAsking {
			p.request(p.attempt())
		}
	case 6:
		p.apply(p.queue.Ack(p.now, p.anyID()))
	case 7:
		p.apply(p.queue.Done(p.now, p.anyID(), took, true))
	case 8:
		p.apply(p.queue.Done(p.now, p.anyID(), took, false))
	case 9:
		p.cancel(p.anyID())
	case 10, 11:
		out, held := p.queue.Release(p.now, fmt.Sprint("p", p.pick(10)), "Started")
		p.apply(out)
		released := slices.ContainsFunc(out.Events, func(e pace.Event) bool { return e.Kind == pace.Released })
		if held && !released {
			p.tb.Errorf("held, but no release was told: %+v", out)
		}
	case 12:
		p.apply(p.queue.Gone(p.now, fmt.Sprint("p", p.pick(10))))
	case 13:
		p.apply(p.queue.Classify(p.now, fmt.Sprint("p", p.pick(10)), p.attempt().Info))
	case 14:
		p.resume(p.attempt(), 10*took)
	case 15:
		p.other()
	case 16, 17:
		p.advance(10 * took)
	case 18:
		p.advance(100 * took)
	case 19:
		if p.mode == jumping {
			p.now = p.now.Add(time.Duration(p.pick(255)-100) * took)
		}
		p.apply(p.queue.Tick(p.now))
	}
}

func (p *player) other() {
	switch p.pick(6) {
	case 5:
		p.identify(fmt.Sprint("p", p.pick(10)), fmt.Sprint("q", p.pick(10)))
	case 0:
		in := p.attempt()
		p.takesSlots(func() pace.Output {
			return p.queue.Seed(p.now, []pace.Starting{{UID: in.UID, Info: in.Info, For: in.Waited}})
		})
	case 1:
		p.apply(p.queue.LockHolders(p.now, p.pick(4)))
	case 2:
		p.apply(p.queue.Sample(p.now, pace.Load{CPU: float64(p.pick(101))}))
	case 3:
		p.apply(p.queue.Maintenance(p.now, p.pick(2) == 0))
	case 4:
		out, err := p.queue.SetConfig(p.now, p.config())
		if err != nil {
			p.tb.Fatal(err)
		}
		p.apply(out)
	}
}
