package engine

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
)

// allowance is how many pods a cycle may move: no more than the peer would. By default a strategy by itself wants no more when it first looks; but a limit of
// the policy may hold back the peer's choice of pods and not ours, several strategies see other clusters than the peer's see after theirs, and the
// peer has no further looks. RemoveDuplicates may move more than the peer (docs/parity.md), and is left out on both sides.
//
// The peer's cycle is played beside ours, only as far as it takes to know that it has as many moves. At first strategies that decide pod by pod are not run for it
// again: what ours want of them is taken for what the peer's move. That can leave out pods which another strategy of ours has moved before, so
// before anything is refused the cycle is played anew, and in full.
type allowance struct {
	begin  func() *cycle
	peer   *cycle // nil until it is needed
	turns  []turn // the peer's; ours are the same ones
	at     int    // the turn that the peer's cycle has come to
	inFull bool   // every strategy is run
	sure   bool   // no more will be wanted than the peer moves

	wants  [][]*cluster.Pod // by turn: what strategies that decide pod by pod wanted in our first look, as the peer's do
	played int              // how many of the wants of the turn are dealt with
	now    int              // our turn; after the first look, none

	most, moved int // most is how many the peer moves up to where its cycle has come to
}

const withoutAllowance = "RemoveDuplicates"

// newAllowance is nil, and everything is allowed, with opted-in extras that move what the peer does not.
func newAllowance(s *cluster.Snapshot, p *policy.Policy, o Options) (*allowance, error) {
	if o.Compat || o.Extras.NotReadyNodes || o.Extras.PreferredAntiAffinity || o.Extras.DrainEmptiest {
		return nil, nil
	}
	o = Options{Compat: true, mended: true, Self: o.Self, Background: o.Background}
	profiles, err := compile(s, p, o)
	if err != nil {
		return nil, err
	}
	a := &allowance{turns: turns(profiles)}
	a.wants = make([][]*cluster.Pod, len(a.turns))
	choosy := p.MaxNoOfPodsToEvictPerNode != nil || p.MaxNoOfPodsToEvictPerNamespace != nil
	a.inFull = choosy || p.MaxNoOfPodsToEvictTotal != nil
	a.sure = len(a.turns) == 1 && !choosy
	a.begin = func() *cycle {
		c := newCycle(s, p, o, nil)
		c.begin(profiles)
		return c
	}
	return a, nil
}

// wanted is told of a pod that a strategy wants to move and that no filter and no limit holds back.
func (a *allowance) wanted(u *use, p *cluster.Pod) {
	if a != nil && a.now < len(a.turns) {
		a.now = u.count
		a.wants[a.now] = append(a.wants[a.now], p)
	}
}

// check asks whether the strategy may move one more pod.
func (a *allowance) check(strategy string) (plan.Reason, bool) {
	if a == nil || a.sure || strategy == withoutAllowance || a.more() {
		return plan.Reason{}, true
	}
	message := "the descheduler would move none in this cycle"
	if a.most > 0 {
		message = fmt.Sprintf("the descheduler would move no more than %d in this cycle, and so many move already", a.most)
	}
	return plan.Reason{Code: "PeersLimit", Message: message, Numbers: plan.Numbers{"limit": float64(a.most)}}, false
}

// more reports whether the peer moves more than were moved, and plays its cycle until it does.
func (a *allowance) more() bool {
	for a.moved >= a.most {
		if a.play() {
			continue
		}
		if a.inFull {
			return false
		}
		a.inFull, a.peer, a.at, a.most = true, nil, 0, 0
	}
	return true
}

// play goes on with the peer's cycle. It returns false when that is at its end, or waits for ours.
func (a *allowance) play() bool {
	if a.peer == nil {
		a.peer = a.begin()
	}
	for a.at < len(a.turns) {
		t := a.turns[a.at]
		if _, ok := t.use.strategy.(strategy.PodByPod); !ok || a.inFull {
			a.run(t)
			a.at++
			return true
		}
		if a.replay() {
			return true
		}
		if a.at >= a.now {
			return false
		}
		a.at, a.played = a.at+1, 0
	}
	return false
}

// run plays a turn of the peer's.
func (a *allowance) run(t turn) {
	before := len(a.peer.plan.Moves)
	a.peer.run(t)
	if t.use.name != withoutAllowance {
		a.most += len(a.peer.plan.Moves) - before
	}
}

// replay plays the next move of a turn of the peer's whose moves ours wants, too. It returns false if there is none.
func (a *allowance) replay() bool {
	for _, p := range a.wants[a.at][a.played:] {
		a.played++
		if !a.peer.view.Gone(p) {
			a.peer.view.Remove(p)
			a.most++
			return true
		}
	}
	return false
}

// goOn is told that there is a further look.
func (a *allowance) goOn() {
	if a != nil {
		a.sure, a.now = false, len(a.turns)
	}
}

// add counts a move.
func (a *allowance) add(strategy string) {
	if a != nil && strategy != withoutAllowance {
		a.moved++
	}
}
