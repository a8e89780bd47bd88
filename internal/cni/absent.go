package cni

import (
	"fmt"
	"math/rand/v2"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
)

// Why a pod without an agent is told to try again.
const (
	reasonAwaited = "the agent is still waited for"
	reasonNobody  = "no node agent, and the plugin runs for others"
)

// refusalGap is the time between two refusals of a node that keeps the DELs
// which follow them apart: five a second, as the agent does by default.
const refusalGap = 200 * time.Millisecond

// absence is a time without an agent.
type absence struct {
	since   time.Time // nobody has answered; zero while somebody does
	noticed time.Time // later than since where the agent fell silent
	stand   standing  // our place, as of the last look
	look    time.Time // when to look again
	due     time.Time // when we are to be refused; zero while nobody is
	lot     float64   // of somebody who cannot know his place, (0,1]
}

func (a *absence) begin(since, now time.Time) {
	if a.since.IsZero() {
		a.since, a.noticed = since, now
	}
}

// alone takes one turn without an agent: for a time it is only waited for, then
// the lock files decide. All the while, those who will not get their turn in
// this attempt are refused one after the other.
func (g *gate) alone(now time.Time) (pass, *refusal, bool) {
	a := &g.absent
	a.begin(now, now)
	awaited := now.Before(a.since.Add(g.patience))
	if awaited && now.Before(g.mayRefuse()) {
		time.Sleep(jitter(redialPause))
		return pass{}, nil, false
	}
	if !awaited || !now.Before(a.look) {
		a.stand = g.stamp.stand(now)
		a.look = now.Add(pollPause(a.stand.ahead))
	}
	if !awaited {
		overdue := now.Sub(g.stamp.first) >= time.Duration(g.settings.MaxWait)
		if lock, ok := g.queue.try(a.stand.ahead, overdue); ok {
			return pass{lock: lock}, nil, true
		}
	}
	var place paceapi.Place
	place, a.due = g.refuseAt(now)
	if !now.Before(a.due) && g.queue.mayRefuse(now, turnGap(g.deadline.Sub(now), place.Rank)) {
		place.Reason = g.reason(awaited)
		return pass{}, &refusal{Place: place, byUs: true}, true
	}
	time.Sleep(min(a.pause(now, awaited), g.deadline.Sub(now)))
	return pass{}, nil, false
}

func (g *gate) reason(awaited bool) string {
	if awaited {
		return reasonAwaited
	}
	return fmt.Sprintf("%s, %d at once at most", reasonNobody, g.queue.limit)
}

// pause is how long to sleep between two turns: not past the time to be refused,
// and not for long once it has come.
func (a *absence) pause(now time.Time, awaited bool) time.Duration {
	switch left := a.due.Sub(now); {
	case left <= 0:
		return jitter(redialPause)
	case awaited:
		return min(left, jitter(redialPause))
	default:
		return min(left, jitter(pollPause(a.stand.ahead)))
	}
}

// mayRefuse is when the refusals of this attempt may begin: for its last 70 %,
// or as much of them as was left when the agent was lost.
func (g *gate) mayRefuse() time.Time {
	return later(g.start.Add(g.deadline.Sub(g.start)*3/10), g.absent.noticed)
}

// refuseAt is when this attempt is due to be refused, and the place that says so:
// our own look at the queue, or the agent's last word where there is nothing to
// look at. Who knows neither draws a lot, in the last half of the time.
func (g *gate) refuseAt(now time.Time) (paceapi.Place, time.Time) {
	window, end := g.deadline.Sub(g.mayRefuse()), g.deadline
	at := g.absent.stand
	place, of := g.place, g.place.Length
	if at.known > 0 {
		place, of = paceapi.Place{Rank: at.ahead + 1, Length: max(at.length, at.ahead+1)}, at.known
		// The farthest go first, so all have to be done by the end of the first.
		if e := at.first.Add(g.deadline.Sub(g.start)); e.After(now) {
			end = earlier(end, e)
		}
	}
	if place.Rank > 0 {
		return place, later(g.mayRefuse(), end.Add(-early(window, place.Rank, of, g.queue.limit)))
	}
	if g.absent.lot == 0 {
		g.absent.lot = 1 - rand.Float64()
	}
	return paceapi.Place{}, end.Add(-time.Duration(g.absent.lot * float64(window/2)))
}

// early is how long before its deadline the attempt with this rank, of so many,
// is due to be refused: the farthest at the beginning of the window that ends with
// the deadline, the next limit pods, who may run any moment, near its end. Two of
// them are refusalGap apart, or as much as the window has room for.
func early(window time.Duration, rank, of, limit int) time.Duration {
	of = max(of, rank)
	spread := time.Duration(float64(window) * float64(rank-limit) / float64(of))
	apart := time.Duration(rank-1) * min(refusalGap, window/time.Duration(of))
	return max(spread, apart)
}

// turnGap is how long ago the node's last refusal must be for one of somebody
// with this rank who has so much time left. Attempts that began one after the
// other are due together; this keeps them apart unless the time of those ahead,
// who have less of it, would run out.
func turnGap(left time.Duration, rank int) time.Duration {
	return max(0, min(refusalGap, left/time.Duration(max(1, rank))))
}

// pollPause is how often somebody with so many ahead looks again: the nearer,
// the more often, which also keeps the order.
func pollPause(ahead int) time.Duration {
	return min(100*time.Millisecond+time.Duration(ahead)*50*time.Millisecond, 2*time.Second)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
