package cniexe

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/paceserver"
	"evenkeel.dev/evenkeel/internal/sock/listen"
)

// agent is a node agent of which the test decides every word.
type agent struct {
	n    *node
	stop context.CancelFunc
	done chan struct{}

	decide func(paceapi.Request, *paceserver.Peer) // answers requests; nil tells them to wait
	onDone []func()

	mu       sync.Mutex
	events   []string
	requests []paceapi.Request
	ends     []paceapi.Done
	peers    map[string]*paceserver.Peer // by pod name
}

func grant(_ paceapi.Request, p *paceserver.Peer) { p.Grant() }

// startAgent listens at the node's address.
func (n *node) startAgent(decide func(paceapi.Request, *paceserver.Peer), onDone ...func()) *agent {
	n.t.Helper()
	a := &agent{n: n, decide: decide, onDone: onDone, done: make(chan struct{}), peers: map[string]*paceserver.Peer{}}
	l, err := listen.On(deadline(n.t), n.socket)
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.stop = func() { cancel(); <-a.done }
	n.t.Cleanup(a.stop)
	s := &paceserver.Server{Handler: a, Agent: "v-test", Problem: func(err error) { a.note("problem: %v", err) }}
	go func() {
		defer close(a.done)
		if err := s.Serve(ctx, l); err != nil {
			n.t.Error(err)
		}
	}()
	return a
}

// hungAgent takes connections and never says a word.
func (n *node) hungAgent() {
	n.t.Helper()
	l, err := listen.On(deadline(n.t), n.socket)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = l.Close() })
	go func() {
		var conns []net.Conn
		defer func() {
			for _, c := range conns {
				_ = c.Close()
			}
		}()
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, conn)
		}
	}()
}

func (a *agent) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, fmt.Sprintf(format, args...))
}

// Request implements paceserver.Handler.
func (a *agent) Request(r paceapi.Request, p *paceserver.Peer) paceserver.Session {
	kind := "request"
	if r.Running {
		kind = "running"
	}
	a.note("%s %s", kind, r.Name)
	a.mu.Lock()
	a.requests = append(a.requests, r)
	a.peers[r.Name] = p
	a.mu.Unlock()
	switch {
	case r.Running:
	case a.decide != nil:
		a.decide(r, p)
	default:
		p.Waiting(paceapi.Place{Rank: 1, Length: 1, Reason: "the test says so"})
	}
	return session{a, r.Name}
}

type session struct {
	*agent
	name string
}

func (s session) Ack()  { s.note("ack %s", s.name) }
func (s session) Gone() { s.note("gone %s", s.name) }
func (s session) Done(d paceapi.Done) {
	s.note("done %s %d", s.name, d.Exit)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, d)
	for _, f := range s.onDone {
		f()
	}
}

// oneByOne grants one start after the other.
type oneByOne struct {
	mu      sync.Mutex
	busy    bool
	waiting []*paceserver.Peer
}

func (o *oneByOne) decide(_ paceapi.Request, p *paceserver.Peer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.busy {
		o.busy = true
		p.Grant()
		return
	}
	o.waiting = append(o.waiting, p)
	p.Waiting(paceapi.Place{Rank: len(o.waiting), Length: len(o.waiting), Reason: "one at a time"})
}

func (o *oneByOne) next() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy = len(o.waiting) > 0; o.busy {
		o.waiting[0].Grant()
		o.waiting = o.waiting[1:]
	}
}

func (a *agent) saw(event string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.events, event)
}

// await waits until the agent has noted an event.
func (a *agent) await(event string) {
	a.n.t.Helper()
	for start := time.Now(); !a.saw(event); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > patience {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.n.t.Fatalf("the agent never saw %q, but:\n%s", event, strings.Join(a.events, "\n"))
		}
	}
}

func (a *agent) peer(name string) *paceserver.Peer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.peers[name]
}
