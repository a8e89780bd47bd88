package cni

import (
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
)

// follow keeps the agent informed while the original runs: whoever is the agent
// by then, for an agent may be replaced meanwhile, or come back after a lock
// file let the original run. The function returned reports the end and must be
// called once.
func (g *gate) follow(p pass) (end func(time.Duration, int)) {
	f := &follower{gate: g, started: time.Now(), degraded: p.client == nil, client: p.client}
	over := make(chan struct{})
	// A plugin that ends at once is not worth the trouble.
	later := time.AfterFunc(followAfter, func() { f.keepInTouch(over) })
	return func(d time.Duration, exit int) {
		later.Stop()
		close(over)
		f.report(paceapi.Done{Duration: millis(d), Exit: exit})
		if p.lock != nil {
			_ = p.lock.Close()
		}
	}
}

type follower struct {
	*gate
	started  time.Time
	degraded bool // let through without an agent

	mu     sync.Mutex
	client *paceapi.Client // nil while there is no agent
	ended  bool
}

// keepInTouch waits for the agent to hang up and looks for the next one.
func (f *follower) keepInTouch(over <-chan struct{}) {
	for {
		if client := f.current(); client != nil {
			for {
				if _, err := client.Next(time.Time{}); err != nil {
					break
				}
			}
			_ = client.Close()
			f.set(nil)
		}
		select {
		case <-over:
			return
		case <-time.After(jitter(runningRedial)):
		}
		f.redial()
	}
}

func (f *follower) redial() {
	conn, err := f.Dial(f.settings.Socket, time.Now().Add(dialPatience))
	if err != nil {
		return
	}
	client := paceapi.NewClient(conn)
	r := f.request()
	r.Running, r.RunningFor, r.Degraded, r.Remaining = true, millis(time.Since(f.started)), f.degraded, 0
	if client.Request(r) != nil || !f.set(client) {
		_ = client.Close()
	}
}

func (f *follower) current() *paceapi.Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.client
}

// set reports false when the original has ended and nobody needs a client.
func (f *follower) set(c *paceapi.Client) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	f.client = c
	return true
}

// report tells the agent of the end, if there is one, and hangs up.
func (f *follower) report(d paceapi.Done) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	if f.client != nil {
		_ = f.client.Done(d)
		_ = f.client.Close()
	}
}
