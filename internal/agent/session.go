package agent

import (
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/paceserver"
)

// peer is how an executable is answered: a paceserver.Peer.
type peer interface {
	Waiting(paceapi.Place)
	Grant()
	Refuse(paceapi.Place)
}

// session is one executable that is connected. Its fields after id belong to the
// loop's goroutine.
type session struct {
	loop *loop
	id   pace.AttemptID
	peer peer
	req  paceapi.Request

	waiting bool      // asked and not answered
	spoke   time.Time // when it was last told anything
}

// Request implements paceserver.Handler.
func (l *loop) Request(req paceapi.Request, peer *paceserver.Peer) paceserver.Session {
	s := &session{loop: l, id: pace.AttemptID(l.lastID.Add(1)), peer: peer, req: req}
	l.do(func(now time.Time) { l.arrive(now, s) })
	return s
}

// Ack implements paceserver.Session.
func (s *session) Ack() {
	s.loop.do(func(now time.Time) { s.loop.apply(now, s.loop.queue.Ack(now, s.id)) })
}

// Done implements paceserver.Session.
func (s *session) Done(d paceapi.Done) {
	s.loop.do(func(now time.Time) { s.loop.done(now, s, d) })
}

// Gone implements paceserver.Session.
func (s *session) Gone() {
	s.loop.do(func(now time.Time) { s.loop.leave(now, s) })
}

// attempt is the request as the queue wants it.
func (s *session) attempt(info pace.Info) pace.Attempt {
	r := s.req
	return pace.Attempt{
		ID: s.id, UID: r.UID, Namespace: r.Namespace, Name: r.Name, Info: info,
		Sandbox: r.Container, Network: r.IfName,
		Wait:   time.Duration(r.Remaining),
		Spent:  time.Duration(r.Waited),
		Waited: max(time.Duration(r.SinceFirst), time.Duration(r.Waited)),
	}
}

func (l *loop) arrive(now time.Time, s *session) {
	l.sessions[s.id] = s
	l.pods.identify(&s.req)
	info := l.pods.info(s.req)
	if s.req.Running {
		l.apply(now, l.queue.Resume(now, s.attempt(info), time.Duration(s.req.RunningFor)))
		if l.queue.Holds(s.req.Key()) {
			l.pods.resumed(now, s.req, l.hang.mayBeOld(now))
		}
		return
	}
	s.waiting = true
	l.apply(now, l.queue.Request(now, s.attempt(info)))
	if waits, _ := l.queue.Waits(s.req.Key()); waits {
		l.pods.asks(now, s.req.Key())
	}
	if s.waiting {
		rank, waiting, waited, _ := l.queue.Position(now, s.id)
		l.log.Info("waits", "pod", s.req.Namespace+"/"+s.req.Name, "sandbox", s.req.Container, "attempt", s.req.Attempt,
			"rank", rank, "waiting", waiting, "waited", waited.Round(time.Millisecond))
		l.tell(now, s)
		l.silent = append(l.silent, s)
	}
}

func (l *loop) done(now time.Time, s *session, d paceapi.Done) {
	took := time.Duration(d.Duration)
	l.metrics.pluginDone(took, d.Exit)
	if d.Exit != 0 {
		l.log.Warn("the plugin failed", "pod", s.req.Namespace+"/"+s.req.Name, "exit", d.Exit, "took", took)
	}
	l.log.Debug("the plugin is done", "pod", s.req.Namespace+"/"+s.req.Name, "exit", d.Exit, "took", took)
	l.apply(now, l.queue.Done(now, s.id, took, d.Exit == 0))
	if d.Exit == 0 {
		l.pods.identify(&s.req)
		l.pluginSucceeded(now, s.req.Key())
	}
}

func (l *loop) leave(now time.Time, s *session) {
	s.waiting = false
	delete(l.sessions, s.id)
	l.apply(now, l.queue.Cancel(now, s.id))
	l.stray(now, l.pods.pods[s.req.Namespace+"/"+s.req.Name])
}

// tell tells a waiting executable its place.
func (l *loop) tell(now time.Time, s *session) {
	s.spoke = now
	rank, length, _, ok := l.queue.Position(now, s.id)
	if !ok {
		rank, length = 0, 0
	}
	c := l.queue.Counts()
	s.peer.Waiting(paceapi.Place{Rank: rank, Length: length, Reason: waitingReason(c)})
}

// speak tells those who have heard nothing for a while, oldest first, and gives
// the time at which the next one has to hear something: zero for never.
func (l *loop) speak(now time.Time) time.Time {
	for len(l.silent) > 0 {
		s := l.silent[0]
		if !s.waiting {
			l.silent = l.silent[1:]
			continue
		}
		if due := s.spoke.Add(speakEvery); now.Before(due) {
			return due
		}
		l.silent = append(l.silent[1:], s)
		l.tell(now, s)
	}
	l.silent = nil // let go of the array when everybody is answered
	return time.Time{}
}
