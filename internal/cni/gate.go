package cni

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
)

// Pauses of a waiting stand-in. All are drawn from the upper half of their
// value at random, so that those who lost the agent together do not come back
// together.
const (
	dialPatience   = time.Second
	redialPause    = 200 * time.Millisecond
	hungPause      = 5 * time.Second // before dialling again an agent that said nothing
	runningRedial  = time.Second     // while the original runs, when nobody is in a hurry
	followAfter    = 50 * time.Millisecond
	afterBoot      = 5 * time.Minute
	reasonNobody   = "no node agent, and the plugin runs for others"
	reasonNoAnswer = "no go-ahead in time"
)

// gate decides when one attempt may run the original.
type gate struct {
	*call
	pod      Pod
	settings Settings
	patience time.Duration // with an absent agent
	start    time.Time     // of this attempt
	deadline time.Time
	stamp    *stamp
	queue    *lockQueue

	nextDial time.Time
	absent   time.Time     // since when nobody has answered; zero while somebody does
	place    paceapi.Place // as the agent last said
}

// pass is the right to run the original: from the agent at the other end of
// client, or by holding lock, or, where nothing can be locked, neither.
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
		call: c, pod: pod, settings: s, patience: time.Duration(s.Absent),
		start: now, deadline: now.Add(time.Duration(s.Attempt)),
	}
	if boot {
		g.patience = time.Duration(s.AbsentBoot)
	}
	booted := time.Time{}
	if err == nil {
		booted = now.Add(-uptime)
	}
	g.stamp = findStamp(filepath.Join(stateDir(dir), "first"), paceapi.Request{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}.Key(), now, booted)
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
		now := time.Now()
		if g.absent.IsZero() {
			g.absent = now
		}
		if now.Before(g.absent.Add(g.patience)) {
			if !now.Before(g.deadline) {
				return pass{}, g.tooLate()
			}
			time.Sleep(jitter(redialPause))
			continue
		}
		p, refused, decided := g.queueUp(now)
		if decided {
			return p, refused
		}
	}
}

// dial gives a conversation with the agent, or nil: nobody is there, or it is
// too early to try again one that does not speak.
func (g *gate) dial() *paceapi.Client {
	if time.Now().Before(g.nextDial) {
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
	patience := paceapi.FirstAnswer
	for {
		listening := time.Now()
		until := listening.Add(patience)
		if g.deadline.Before(until) {
			until = g.deadline
		}
		m, err := client.Next(until)
		switch {
		case err != nil:
			g.lost(listening, errors.Is(err, paceapi.ErrRefusedLine))
			if !time.Now().Before(g.deadline) {
				return pass{}, g.tooLate(), true
			}
			return pass{}, nil, false
		case m.Type == paceapi.TypeGrant:
			if client.Ack() != nil {
				g.lost(listening, false)
				return pass{}, nil, false
			}
			return pass{client: client}, nil, true
		case m.Type == paceapi.TypeRefuse:
			return pass{}, &refusal{Place: m.Place}, true
		}
		g.absent, g.place, patience = time.Time{}, m.Place, paceapi.Silence
	}
}

// lost notes that the agent, last listened to since then, broke off, fell
// silent, or speaks another language.
func (g *gate) lost(since time.Time, stranger bool) {
	if g.absent.IsZero() {
		g.absent = since
	}
	pause := redialPause
	if stranger || time.Since(since) >= paceapi.FirstAnswer {
		pause = hungPause
	}
	g.nextDial = time.Now().Add(jitter(pause))
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

// queueUp takes one turn in the queue that needs no agent.
func (g *gate) queueUp(now time.Time) (pass, *refusal, bool) {
	at := g.stamp.stand(now)
	overdue := now.Sub(g.stamp.first) >= time.Duration(g.settings.MaxWait)
	if lock, ok := g.queue.try(at.ahead, overdue); ok {
		return pass{lock: lock}, nil, true
	}
	place := paceapi.Place{
		Rank: at.ahead + 1, Length: max(at.length, at.ahead+1),
		Reason: fmt.Sprintf("%s, %d at once at most", reasonNobody, g.queue.limit),
	}
	if !now.Before(refuseAt(g.start, g.deadline, place, g.queue.limit)) {
		return pass{}, &refusal{Place: place, byUs: true}, true
	}
	time.Sleep(jitter(pollPause(at.ahead)))
	return pass{}, nil, false
}

// refuseAt spreads the refusals of a queue over the last 70 % of the attempt,
// the farthest first, so that their DELs do not arrive together. Those who may
// run next stay to the end.
func refuseAt(start, deadline time.Time, at paceapi.Place, limit int) time.Time {
	if at.Rank <= limit {
		return deadline
	}
	early := time.Duration(float64(deadline.Sub(start)) * 0.7 * float64(at.Rank-limit) / float64(at.Length))
	return deadline.Add(-early)
}

// pollPause is how often somebody with so many ahead looks again: the nearer,
// the more often, which also keeps the order.
func pollPause(ahead int) time.Duration {
	return min(100*time.Millisecond+time.Duration(ahead)*50*time.Millisecond, 2*time.Second)
}

// tooLate is the answer at the end of an attempt that nobody decided.
func (g *gate) tooLate() *refusal {
	r := &refusal{Place: g.place, byUs: g.place == paceapi.Place{}}
	if r.Reason == "" {
		r.Reason = reasonNoAnswer
	}
	return r
}
