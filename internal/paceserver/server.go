// Package paceserver is the node agent's side of the conversations of package
// paceapi. It is apart from it to keep package net out of the CNI executable.
package paceserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
)

// DefaultMaxConns is how many executables a Server serves at once by default.
const DefaultMaxConns = 1000

// sendPatience bounds one write: a healthy peer's buffer takes a line at once.
const sendPatience = 100 * time.Millisecond

// lastWords is how long the server leaves a connection open after the last
// line, so that the peer reads it and hangs up by itself.
const lastWords = time.Second

// Handler is told about each request. It is called in the connection's own
// goroutine, for many connections at once, and should hand the request on and
// return: nothing the executable does is seen in the meantime. The peer may be
// used during the call and after it.
type Handler interface {
	Request(req paceapi.Request, peer *Peer) Session
}

// Session is told what the executable does after its request, one call at a
// time, in this order: Ack at most once, Done at most once, Gone exactly once
// and always last, whoever ended the conversation. Gone without Ack is a
// cancel; Gone after Ack without Done means that the executable died or lost
// its connection while the original ran.
type Session interface {
	Ack()
	Done(paceapi.Done)
	Gone()
}

// Peer is the executable at the other end. Its methods may be called from any
// goroutine, do not block on the peer for longer than 100 ms, and hang up when
// the line cannot be sent, which the Session learns as Gone.
type Peer struct {
	lines *paceapi.Lines
	conn  net.Conn
	mu    sync.Mutex // one line at a time; guards over
	over  bool
}

// Waiting tells the executable its place. To be repeated at least every
// KeepAlive, unchanged if need be, or the executable takes the agent for hung.
func (p *Peer) Waiting(at paceapi.Place) {
	p.say(paceapi.Message{Type: paceapi.TypeWaiting, Place: at}, false)
}

// Grant lets the original run. It counts once Session.Ack is called.
func (p *Peer) Grant() { p.say(paceapi.Message{Type: paceapi.TypeGrant}, false) }

// Refuse ends the attempt: the executable answers its caller with CNI error 11
// and this text, and the kubelet comes back in 10 to 18 s.
func (p *Peer) Refuse(at paceapi.Place) {
	p.say(paceapi.Message{Type: paceapi.TypeRefuse, Place: at}, true)
}

func (p *Peer) fail(err error) {
	p.say(paceapi.Message{Type: paceapi.TypeError, Reason: err.Error()}, true)
}

// say sends one line unless the last one was sent already.
func (p *Peer) say(m paceapi.Message, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = last
	err := p.conn.SetWriteDeadline(time.Now().Add(sendPatience))
	if err == nil {
		err = p.lines.Send(m)
	}
	if err == nil && last {
		err = p.conn.SetReadDeadline(time.Now().Add(lastWords))
	}
	if err != nil {
		_ = p.conn.Close()
	}
}

// ended reports whether the last line was sent.
func (p *Peer) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// Server is the agent's side: it turns connections into calls of a Handler.
type Server struct {
	Handler Handler
	// Agent is the version told to a ping.
	Agent string
	// MaxConns is how many connections are served; the next ones get a polite
	// refusal and, beyond twice the number, are closed. 0 is DefaultMaxConns.
	MaxConns int
	// Problem, if set, is called for each connection that broke the protocol.
	Problem func(error)

	open atomic.Int64
}

// Serve accepts connections until ctx ends or l fails, then hangs up on
// everybody and returns once every Session has had its Gone. It closes l, and
// returns nil when ctx ended it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	defer func() { _ = l.Close() }()
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			// Out of descriptors, or a client that left too early.
			s.report(fmt.Errorf("accepting a connection: %w", err))
			sleep(ctx, 10*time.Millisecond)
			continue
		}
		conns.Go(func() { s.converse(ctx, conn) })
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (s *Server) report(err error) {
	if s.Problem != nil {
		s.Problem(err)
	}
}

func (s *Server) limit() int64 {
	if s.MaxConns > 0 {
		return int64(s.MaxConns)
	}
	return DefaultMaxConns
}

// converse serves one connection to its end.
func (s *Server) converse(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	open := s.open.Add(1)
	defer s.open.Add(-1)
	if open > 2*s.limit() {
		return
	}
	lines := &paceapi.Lines{Conn: conn}
	peer := &Peer{lines: lines, conn: conn}
	first, err := firstLine(lines)
	switch {
	case err != nil:
		s.broken(peer, err)
	case first.Type == paceapi.TypePing:
		peer.say(paceapi.Message{Type: paceapi.TypePong, Agent: s.Agent}, true)
		drain(lines)
	case first.Type != paceapi.TypeRequest:
		s.broken(peer, fmt.Errorf("first line is %s: expected request or ping", first.Type))
	case open > s.limit() && !first.Request.Running:
		peer.Refuse(paceapi.Place{Reason: fmt.Sprintf("the node agent already serves %d starts", s.limit())})
		drain(lines)
	default:
		s.session(lines, peer, s.Handler.Request(first.Request, peer))
	}
}

// firstLine bounds how long a silent connection lives.
func firstLine(c *paceapi.Lines) (paceapi.Message, error) {
	if err := c.SetReadDeadline(time.Now().Add(paceapi.FirstAnswer)); err != nil {
		return paceapi.Message{}, err
	}
	m, err := c.Receive()
	if err != nil {
		return paceapi.Message{}, err
	}
	return m, c.SetReadDeadline(time.Time{})
}

// session passes on what the peer says until it hangs up.
func (s *Server) session(c *paceapi.Lines, peer *Peer, to Session) {
	defer to.Gone()
	var acked, done bool
	for {
		m, err := c.Receive()
		switch {
		case err != nil:
			if !done && !peer.ended() {
				s.broken(peer, err)
			}
			return
		case m.Type == paceapi.TypeAck && !acked && !done:
			acked = true
			to.Ack()
		case m.Type == paceapi.TypeDone && !done:
			done = true
			to.Done(m.Done)
			// Nothing more is expected but the hang-up.
			if c.SetReadDeadline(time.Now().Add(lastWords)) != nil {
				return
			}
		default:
			s.broken(peer, fmt.Errorf("unexpected %s line", m.Type))
			return
		}
	}
}

// broken ends a conversation. A peer that merely left is not worth a report.
func (s *Server) broken(peer *Peer, err error) {
	if errors.Is(err, paceapi.ErrHungUp) {
		return
	}
	s.report(fmt.Errorf("conversation with a CNI executable: %w", err))
	peer.fail(err)
	drain(peer.lines)
}

// drain waits until the peer has read the last line and hung up, so that
// closing does not take the line away from it.
func drain(c *paceapi.Lines) {
	if c.SetReadDeadline(time.Now().Add(lastWords)) != nil {
		return
	}
	var scrap [512]byte
	for {
		if _, err := c.Read(scrap[:]); err != nil {
			return
		}
	}
}
