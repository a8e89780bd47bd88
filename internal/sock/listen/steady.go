package listen

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Steady is a listener that survives the loss of its address: Check finds out
// whether somebody has taken the socket away, and listens anew. Accept goes on
// as if nothing had happened, and so do connections. It never listens twice.
type Steady struct {
	path string
	addr net.Addr
	lost error // why the last listener was given up, until there is another; Check's own

	mu      sync.Mutex
	changed *sync.Cond // current or closed did
	current *listener  // nil while there is none
	closed  bool
}

// Stay is On with a listener that can be kept reachable.
func Stay(ctx context.Context, path string) (*Steady, error) {
	l, err := on(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &Steady{path: path, addr: l.Addr(), current: l}
	s.changed = sync.NewCond(&s.mu)
	return s, nil
}

// Check looks whether the path still leads here. If it does not, lost says why,
// and err what kept Check from listening anew: it wraps ErrInUse while somebody
// else holds the path. After an error the next Check tries again. One goroutine
// at a time may call it.
func (s *Steady) Check() (lost, err error) {
	l, closed := s.now()
	if closed {
		return nil, nil
	}
	if l != nil {
		if s.lost = l.lost(); s.lost == nil {
			return nil, nil
		}
		s.set(nil) // first, so that Accept waits for the next one
		_ = l.Close()
	}
	if l, err = listen(s.path); err != nil {
		return s.lost, err
	}
	if !s.set(l) {
		return nil, l.Close()
	}
	return s.lost, nil
}

func (s *Steady) now() (*listener, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.closed
}

// set reports false when the whole was closed meanwhile.
func (s *Steady) set(l *listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.current = l
	s.changed.Broadcast()
	return true
}

// Accept implements net.Listener. While there is no address it waits.
func (s *Steady) Accept() (net.Conn, error) {
	for {
		l := s.await()
		if l == nil {
			return nil, net.ErrClosed
		}
		conn, err := l.Accept()
		if now, _ := s.now(); err != nil && now != l && errors.Is(err, net.ErrClosed) {
			continue
		}
		return conn, err
	}
}

// await gives the listener of the time, or nil at the end.
func (s *Steady) await() *listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.current == nil && !s.closed {
		s.changed.Wait()
	}
	return s.current
}

// Close implements net.Listener. It frees the path; connections stay open.
func (s *Steady) Close() error {
	s.mu.Lock()
	l := s.current
	s.current, s.closed = nil, true
	s.changed.Broadcast()
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	return l.Close()
}

// Addr implements net.Listener.
func (s *Steady) Addr() net.Addr { return s.addr }
