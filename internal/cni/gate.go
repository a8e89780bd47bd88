package cni

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
)

// Pauses of a waiting stand-in. All are drawn from the upper half of their
// value at random, so that those who lost the agent together do not come back
// together.
const (
	redialPause   = 200 * time.Millisecond
	hungPause     = 5 * time.Second // before dialling again an agent that said nothing
	runningRedial = time.Second     // while the original runs, when nobody is in a hurry
)

const (
	dialPatience   = time.Second
	followAfter    = 50 * time.Millisecond
	afterBoot      = 5 * time.Minute
	reasonNoAnswer = "no go-ahead in time"
)

// gate decides when one attempt may run the original.
type gate struct {
	*call
	pod      Pod
	settings Settings
	excluded bool          // waits for an agent's word alone
	patience time.Duration // with an absent agent
	start    time.Time     // of this attempt
	deadline time.Time
	stamp    *stamp
	queue    *lockQueue

	nextDial time.Time
	place    paceapi.Place // as the agent last said
	absent   absence
}

// pass is the right to run the original: from the agent at the other end of
// client, or by holding lock. The zero value is that of a pod which is not gated.
type pass struct {
	client *paceapi.Client
	lock   io.Closer
}

func newGate(c *call, pod Pod) *gate {
	now := time.Now()
	dir := filepath.Dir(c.original)
	s := readSettings(dir).complete(c.CPUs)
	uptime, err := c.Uptime()
	boot := err == nil && uptime < afterBoot
	g := &gate{
		call: c, pod: pod, settings: s, excluded: slices.Contains(s.ExcludeNamespaces, pod.Namespace), patience: time.Duration(s.Absent),
		start: now, deadline: now.Add(time.Duration(s.Attempt)),
	}
	if boot {
		g.patience = time.Duration(s.AbsentBoot)
	}
	booted := time.Time{}
	if err == nil {
		booted = now.Add(-uptime)
	}
	g.stamp = findStamp(stampDir(dir), paceapi.Request{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}.Key(), now, booted)
	g.queue = &lockQueue{dir: stateDir(dir), limit: s.Limit, last: c.original}
	return g
}

// admit waits for the go-ahead: a pass, or a refusal when the attempt is over.
func (g *gate) admit() (pass, *refusal) {
	for {
		if client := g.dial(); client != nil {
			if p, refused, decided := g.ask(client); decided {
				return p, refused
			}
		}
		if g.excluded {
			return pass{}, nil
		}
		if p, refused, decided := g.alone(time.Now()); decided {
			return p, refused
		}
	}
}

// dial gives a conversation with the agent, or nil: nobody is there, or it is
// too early to try again one that does not speak, or too late.
func (g *gate) dial() *paceapi.Client {
	now, due := time.Now(), g.absent.due
	if now.Before(g.nextDial) || !due.IsZero() && !now.Before(due) {
		return nil
	}
	conn, err := g.Dial(g.settings.Socket, time.Now().Add(dialPatience))
	if err != nil {
		return nil
	}
	return paceapi.NewClient(conn)
}

// ask puts the request to the agent and waits for its decision, which is not
// made when the conversation breaks off.
func (g *gate) ask(client *paceapi.Client) (p pass, refused *refusal, decided bool) {
	defer func() {
		if p.client == nil {
			_ = client.Close()
		}
	}()
	if client.Request(g.request()) != nil {
		return pass{}, nil, false
	}
	// Half a short attempt, so that there is time left to get along without.
	patience := min(paceapi.FirstAnswer, time.Duration(g.settings.Attempt)/2)
	for {
		listening := time.Now()
		m, err := client.Next(g.listenUntil(listening, patience))
		switch {
		case err != nil:
			g.lost(listening, err)
			switch {
			case time.Now().Before(g.deadline):
				return pass{}, nil, false
			case g.excluded:
				return pass{}, nil, true
			}
			return pass{}, g.tooLate(), true
		case m.Type == paceapi.TypeGrant:
			if err := client.Ack(); err != nil {
				g.lost(listening, err)
				return pass{}, nil, false
			}
			return pass{client: client}, nil, true
		case m.Type == paceapi.TypeRefuse:
			return pass{}, &refusal{Place: m.Place}, true
		}
		g.absent, g.place, patience = absence{}, m.Place, paceapi.Silence
	}
}

// listenUntil is when an agent that has said nothing since then counts as hung:
// after so much patience; or sooner if that would end after we are due to be
// refused, since those whom it left waiting must not all end at the deadline.
func (g *gate) listenUntil(since time.Time, patience time.Duration) time.Time {
	until := earlier(since.Add(patience), g.deadline)
	switch {
	case !g.absent.due.IsZero():
		return earlier(until, g.absent.due)
	case g.place.Rank == 0:
		return until
	}
	due := g.deadline.Add(-early(g.deadline.Sub(g.mayRefuse()), g.place.Rank, g.place.Length, g.settings.Limit))
	if due.After(until) {
		return until
	}
	return earlier(until, since.Add(2*paceapi.KeepAlive))
}

// lost notes that the agent, listened to since then, hung up, fell silent, or
// speaks another language.
func (g *gate) lost(listening time.Time, err error) {
	now := time.Now()
	silent := errors.Is(err, os.ErrDeadlineExceeded)
	if silent {
		g.absent.begin(listening, now)
	} else {
		g.absent.begin(now, now)
	}
	pause := redialPause
	if silent || errors.Is(err, paceapi.ErrRefusedLine) {
		pause = hungPause
	}
	g.nextDial = now.Add(jitter(pause))
}

func (g *gate) request() paceapi.Request {
	now := time.Now()
	return paceapi.Request{
		UID: g.pod.UID, Namespace: g.pod.Namespace, Name: g.pod.Name,
		Container: short(g.Getenv("CNI_CONTAINERID")), NetNS: short(g.Getenv("CNI_NETNS")), IfName: short(g.Getenv("CNI_IFNAME")),
		Attempt: g.stamp.attempt, Remaining: millis(g.deadline.Sub(now)),
		Waited: millis(now.Sub(g.start)), SinceFirst: millis(now.Sub(g.stamp.first)),
	}
}

// short keeps what only helps people to find things from making a line too long.
func short(s string) string { return s[:min(len(s), 256)] }

func millis(d time.Duration) paceapi.Millis {
	return paceapi.Millis(max(0, min(d, 24*time.Hour)))
}

// jitter draws from the upper half of d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// tooLate is the answer at the end of an attempt that nobody decided.
func (g *gate) tooLate() *refusal {
	r := &refusal{Place: g.place, byUs: g.place == paceapi.Place{}}
	if r.Reason == "" {
		r.Reason = reasonNoAnswer
	}
	return r
}
