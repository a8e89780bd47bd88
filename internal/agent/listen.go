package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/internal/sock/listen"
)

const (
	// checkListener is how often the agent looks whether its socket is still
	// there: more often than stand-ins are patient with an absent agent.
	checkListener = 2 * time.Second
	// unreachableFor is how long the agent tries to listen anew. Then it ends, to
	// be started again with a folder that can be written, perhaps: a mounted one
	// that was removed on the node is a dead end from inside.
	unreachableFor = 20 * time.Second
)

// listener is what can be found to have lost its address: listen.Steady.
type listener interface {
	Check() (lost, err error)
}

// keepListening keeps the socket reachable until ctx ends. An error means that it
// cannot be done from here.
func (a *Agent) keepListening(ctx context.Context, l listener) error {
	tick := time.NewTicker(checkListener)
	defer tick.Stop()
	var since time.Time // unreachable; zero while all is well
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		lost, err := l.Check()
		switch {
		case lost == nil && err == nil:
		case err == nil:
			a.listenAgain(lost)
			since = time.Time{}
		default:
			a.listening.Store(false)
			err = fmt.Errorf("pods start without this agent, which cannot listen on %s any more: %w", a.options.Config.Socket, errors.Join(lost, err))
			a.trouble("socket", err)
			if since.IsZero() || errors.Is(err, listen.ErrInUse) { // who has it may leave, as at the start
				since = time.Now()
			}
			if time.Since(since) >= unreachableFor {
				return err
			}
		}
	}
}

func (a *Agent) listenAgain(lost error) {
	a.listening.Store(true)
	a.trouble("socket", nil)
	a.log.Warn("listening again", "socket", a.options.Config.Socket, "why", lost)
	a.recent.add("listening again on %s: %v", a.options.Config.Socket, lost)
	a.metrics.repairs.WithLabelValues("socket").Inc()
	if a.keeper != nil {
		a.keeper.testAgain.Store(true)
	}
}
