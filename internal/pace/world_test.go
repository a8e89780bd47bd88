package pace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
)

// world is a queue with a simulated clock and a model of what its outputs promised. Pods are named by their UID. It
// checks the queue's invariants after every input.
type world struct {
	tb    testing.TB
	queue *pace.Queue
	start time.Time
	now   time.Time
	log   strings.Builder

	lastID   pace.AttemptID
	attempts map[pace.AttemptID]*peer
	newest   map[string]pace.AttemptID
	slots    map[string]bool

	paced     []time.Duration // refusals under the cap
	perSecond int             // the cap checked; 0 is none
	jumped    bool            // deadlines no longer mean anything
	silent    bool            // grants are not acknowledged
}

type peer struct {
	uid      string
	deadline time.Time
	answered bool
}

func newWorld(tb testing.TB, cfg pace.Config, cores int) *world {
	tb.Helper()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	queue, err := pace.New(start, cfg, cores)
	if err != nil {
		tb.Fatal(err)
	}
	return &world{
		tb: tb, queue: queue, start: start, now: start, perSecond: cfg.Defaulted(cores).RefusalsPerSecond,
		attempts: map[pace.AttemptID]*peer{}, newest: map[string]pace.AttemptID{}, slots: map[string]bool{},
	}
}

// recover is a start at which nothing was going on before.
func (w *world) recover() {
	w.tb.Helper()
	w.apply(w.queue.Seed(w.now, nil))
	w.advance(5 * time.Second)
}

// request makes a new attempt and returns its ID.
func (w *world) request(in pace.Attempt) pace.AttemptID {
	in = w.connect(in)
	w.apply(w.queue.Request(w.now, in))
	return in.ID
}

func (w *world) resume(in pace.Attempt, ran time.Duration) {
	in = w.connect(in)
	w.attempts[in.ID].answered = true
	w.takesSlots(func() pace.Output { return w.queue.Resume(w.now, in, ran) })
}

func (w *world) connect(in pace.Attempt) pace.Attempt {
	w.lastID++
	in.ID = w.lastID
	wait := in.Wait
	if wait == 0 {
		wait = 120 * time.Second
	}
	w.attempts[in.ID] = &peer{uid: in.UID, deadline: w.now.Add(wait)}
	w.newest[in.UID] = in.ID
	return in
}

// takesSlots is for inputs that may give slots without an answer.
func (w *world) takesSlots(input func() pace.Output) {
	out := input()
	for _, e := range out.Events {
		w.released(e)
	}
	turns := map[string]bool{} // that came of it; apply notes them
	for _, g := range out.Grants {
		turns[g.UID] = g.Why != pace.SamePod
	}
	for _, h := range w.queue.Snapshot().Holding {
		if !turns[h.UID] {
			w.slots[h.UID] = true
		}
	}
	w.log.WriteString(w.events(out.Events))
	out.Events = nil
	w.apply(out)
}

// identify gives a pod that is known by its name its UID.
func (w *world) identify(name, uid string) bool {
	known := w.queue.Identify(name, uid)
	if known {
		w.newest[uid] = w.newest[name]
		if w.slots[name] {
			delete(w.slots, name)
			w.slots[uid] = true
		}
	}
	w.apply(pace.Output{})
	return known
}

func (w *world) cancel(id pace.AttemptID) {
	if p := w.attempts[id]; p != nil {
		p.answered = true
	}
	w.apply(w.queue.Cancel(w.now, id))
}

// advance lets time pass, ticking whenever the queue asks for it.
func (w *world) advance(d time.Duration) {
	end := w.now.Add(d)
	for {
		next := w.queue.Next(w.now)
		if next.IsZero() || next.After(end) {
			break
		}
		w.now = next
		w.apply(w.queue.Tick(w.now))
	}
	w.now = end
}

// drain lets time pass until the queue is idle.
func (w *world) drain() {
	w.tb.Helper()
	for steps := 0; ; steps++ {
		next := w.queue.Next(w.now)
		if next.IsZero() {
			break
		}
		if steps > 100_000 || next.Sub(w.start) > 400*24*time.Hour {
			w.tb.Fatalf("the queue does not come to rest: next %s, %+v", next.Sub(w.now), w.queue.Snapshot())
		}
		w.now = next
		w.apply(w.queue.Tick(w.now))
	}
	for id, p := range w.attempts {
		if !p.answered {
			w.tb.Errorf("attempt %d of %s was never answered", id, p.uid)
		}
	}
	if s := w.queue.Snapshot(); len(s.Holding)+len(s.Waiting)+s.LockHolders > 0 || w.queue.Busy() {
		w.tb.Errorf("idle, but not empty: %+v", s)
	}
}

// apply notes an output and checks it.
func (w *world) apply(out pace.Output) {
	w.tb.Helper()
	for _, e := range out.Events {
		w.released(e)
	}
	w.log.WriteString(w.events(out.Events))
	turns := false
	for _, g := range out.Grants {
		w.note(g)
		turns = turns || g.Why == pace.FreeSlot || g.Why == pace.Reserved
	}
	for _, r := range out.Refusals {
		if r.Reason != pace.Unacknowledged { // which takes a grant back
			w.answer(r.ID, "refused")
		}
		w.printf("refuse %s %s %d/%d\n", r.UID, r.Reason, r.Rank, r.Waiting)
		w.underCap(r)
	}
	w.check(turns)
	if w.silent {
		return
	}
	for _, g := range out.Grants {
		w.apply(w.queue.Ack(w.now, g.ID))
	}
}

func (w *world) note(g pace.Grant) {
	w.tb.Helper()
	w.answer(g.ID, "granted")
	if g.Why == pace.FreeSlot || g.Why == pace.Reserved || g.Why == pace.Urgent {
		if w.slots[g.UID] {
			w.tb.Errorf("%s got a second slot", g.UID)
		}
		w.slots[g.UID] = true
	}
	w.printf("grant %s %s", g.UID, g.Why)
	if g.Waited > 0 {
		fmt.Fprintf(&w.log, " after %s", g.Waited)
	}
	w.log.WriteString("\n")
}

func (w *world) released(e pace.Event) {
	w.tb.Helper()
	if e.Kind != pace.Released {
		return
	}
	if !w.slots[e.UID] {
		w.tb.Errorf("%s: a slot was released that was not held (%s)", e.UID, e.Why)
	}
	delete(w.slots, e.UID)
}

func (w *world) events(events []pace.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %s %s", w.now.Sub(w.start), e.Kind, e.UID)
		if e.Why != "" {
			fmt.Fprintf(&b, " %s", e.Why)
		}
		fmt.Fprintf(&b, " after %s\n", e.For)
	}
	return b.String()
}

func (w *world) answer(id pace.AttemptID, how string) {
	w.tb.Helper()
	p := w.attempts[id]
	if p == nil || p.answered {
		w.tb.Errorf("attempt %d was %s, but is not waiting for an answer", id, how)
		return
	}
	p.answered = true
}

func (w *world) underCap(r pace.Refusal) {
	w.tb.Helper()
	switch r.Reason {
	case pace.Overloaded, pace.Superseded, pace.Unacknowledged:
		return
	}
	at := w.now.Sub(w.start)
	w.paced = append(w.paced, at)
	if n := w.perSecond; n > 0 && len(w.paced) > n && at-w.paced[len(w.paced)-1-n] < time.Second {
		w.tb.Errorf("%s: more than %d refusals within a second", at, n)
	}
}

// check is the invariants that hold after every input.
func (w *world) check(turns bool) {
	w.tb.Helper()
	s := w.queue.Snapshot()
	seen := map[string]bool{}
	for _, h := range s.Holding {
		if seen[h.UID] || !w.slots[h.UID] {
			w.tb.Errorf("%s holds a slot twice or without a grant", h.UID)
		}
		seen[h.UID] = true
	}
	if len(w.slots) != len(s.Holding) {
		w.tb.Errorf("granted and not released: %v; the queue has %+v", w.slots, s.Holding)
	}
	present, overdue := 0, 0
	for _, p := range s.Waiting {
		if seen[p.UID] {
			w.tb.Errorf("%s is in the queue twice", p.UID)
		}
		seen[p.UID] = true
		if p.Present {
			present++
		}
		if p.Overdue {
			overdue++
		}
	}
	c := w.queue.Counts()
	if c.Waiting != len(s.Waiting) || c.Present != present || c.Overdue != overdue || c.Holding != len(s.Holding) || c.Limit != s.Limit {
		w.tb.Errorf("counts %+v do not match %+v", c, s)
	}
	if turns && c.Holding+c.LockHolders > c.Limit {
		w.tb.Errorf("a turn was given beyond the limit: %+v", c)
	}
	if next := w.queue.Next(w.now); !next.IsZero() && !next.After(w.now) {
		w.tb.Fatalf("the queue asks for a tick at once, for ever")
	}
	if w.jumped {
		return
	}
	for id, p := range w.attempts {
		if p.answered {
			continue
		}
		if !p.deadline.After(w.now) {
			w.tb.Errorf("attempt %d of %s has no answer at its deadline", id, p.uid)
			p.answered = true
		}
	}
}

func (w *world) printf(format string, args ...any) {
	fmt.Fprintf(&w.log, "%s ", w.now.Sub(w.start))
	fmt.Fprintf(&w.log, format, args...)
}

// flush returns what happened since the last flush.
func (w *world) flush() string {
	s := w.log.String()
	w.log.Reset()
	return s
}

// status is the snapshot in one line for each pod.
func (w *world) status() string {
	s := w.queue.Snapshot()
	var b strings.Builder
	fmt.Fprintf(&b, "limit %d (%s)", s.Limit, s.LimitedBy)
	for _, flag := range []struct {
		on   bool
		name string
	}{{s.Recovering, "recovering"}, {s.Maintenance, "maintenance"}} {
		if flag.on {
			b.WriteString(" " + flag.name)
		}
	}
	for _, short := range s.Short {
		fmt.Fprintf(&b, " %s=%g>%g", short.Of, short.Now, short.Above)
	}
	if s.NextStart > 0 {
		fmt.Fprintf(&b, " next start in %s", s.NextStart.Std().Round(time.Millisecond))
	}
	if s.LockHolders > 0 {
		fmt.Fprintf(&b, " lockHolders=%d", s.LockHolders)
	}
	b.WriteString("\n")
	for _, h := range s.Holding {
		fmt.Fprintf(&b, "  %s %s %s for %s\n", h.Phase, h.UID, h.Class, h.For)
	}
	for _, p := range s.Waiting {
		fmt.Fprintf(&b, "  waiting %s waited %s", p.UID, p.Waited)
		for _, flag := range []struct {
			on   bool
			name string
		}{{!p.Present, "away"}, {p.Overdue, "overdue"}, {p.SlotKept, "slot kept"}} {
			if flag.on {
				b.WriteString(", " + flag.name)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
