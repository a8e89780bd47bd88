package herd

import (
	"slices"
	"sync"
	"time"
)

// board is where everybody writes what pods do, by the time since the run began.
type board struct {
	mu    sync.Mutex
	began time.Time
	pods  []*story
}

// story is one pod's, being written.
type story struct {
	board *board
	Pod
	open  Span // the phase that it is in; none if its Phase is empty
	ended bool
}

func newBoard(began time.Time) *board { return &board{began: began} }

// add begins a story.
func (b *board) add(name string) *story {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &story{board: b, Pod: Pod{Name: name}}
	b.pods = append(b.pods, s)
	return s
}

func (b *board) since(t time.Time) Seconds { return seconds(max(0, t.Sub(b.began))) }

// enter ends the phase that the pod is in and begins another, at a moment not before the phase that ends.
func (s *story) enter(p Phase, at time.Time) {
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	s.enterLocked(p, max(s.board.since(at), s.open.From))
}

func (s *story) enterLocked(p Phase, at Seconds) {
	if s.ended {
		return
	}
	if s.open.Phase != "" && at > s.open.From {
		s.open.To = at
		s.Spans = append(s.Spans, s.open)
	}
	s.open = Span{Phase: p, From: at}
	if p == Ready {
		s.Pod.Ready = &at
	}
}

// note changes the counters of the pod.
func (s *story) note(change func(p *Pod)) {
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	change(&s.Pod)
}

// counts is how many pods are in each phase.
func (b *board) counts() map[Phase]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := map[Phase]int{}
	for _, s := range b.pods {
		n[s.open.Phase]++
	}
	return n
}

// close ends all stories and returns them, in the order in which the pods were ready, the others last.
func (b *board) close(at time.Time) []Pod {
	b.mu.Lock()
	defer b.mu.Unlock()
	end := b.since(at)
	pods := make([]Pod, 0, len(b.pods))
	for _, s := range b.pods {
		s.enterLocked("", max(end, s.open.From))
		s.ended = true
		pods = append(pods, s.Pod)
	}
	slices.SortStableFunc(pods, func(a, b Pod) int { return byReady(a.Ready, b.Ready) })
	return pods
}

func byReady(a, b *Seconds) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil || *a < *b:
		return -1
	case *a > *b:
		return 1
	}
	return 0
}
