package agent

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// firstByte is how long a connection may stay silent.
	firstByte = 3 * time.Second
	// maxUndecided is how many silent connections there may be.
	maxUndecided = 4096
)

// split serves two protocols on one listener: a connection that begins with '{'
// is a conversation with a CNI executable, any other is HTTP. It ends with the
// listener or ctx and closes both results.
func split(ctx context.Context, l net.Listener) (conversations, http net.Listener) {
	lines, other := newBranch(l.Addr()), newBranch(l.Addr())
	undecided := make(chan struct{}, maxUndecided)
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	go func() {
		defer stop()
		defer lines.end()
		defer other.end()
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
				closeConn(conn)
				return
			}
			if err != nil { // out of descriptors, or a client that left too early
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
				continue
			}
			select {
			case undecided <- struct{}{}:
				go func() {
					defer func() { <-undecided }()
					decide(conn, lines, other)
				}()
			default:
				closeConn(conn)
			}
		}
	}()
	return lines, other
}

func closeConn(conn net.Conn) {
	if conn != nil {
		_ = conn.Close()
	}
}

func decide(conn net.Conn, lines, other *branch) {
	first := make([]byte, 1)
	err := conn.SetReadDeadline(time.Now().Add(firstByte))
	if err == nil {
		_, err = conn.Read(first)
	}
	if err == nil {
		err = conn.SetReadDeadline(time.Time{})
	}
	if err != nil {
		closeConn(conn)
		return
	}
	to := other
	if first[0] == '{' {
		to = lines
	}
	to.deliver(&begun{Conn: conn, first: first})
}

// begun is a connection of which the first byte was read already.
type begun struct {
	net.Conn
	first []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) > 0 && len(p) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// branch is the listener of one of the protocols.
type branch struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newBranch(addr net.Addr) *branch {
	return &branch{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (b *branch) deliver(conn net.Conn) {
	select {
	case b.conns <- conn:
	case <-b.done:
		closeConn(conn)
	}
}

// Accept implements net.Listener.
func (b *branch) Accept() (net.Conn, error) {
	select {
	case conn := <-b.conns:
		return conn, nil
	case <-b.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (b *branch) Close() error {
	b.end()
	return nil
}

func (b *branch) end() { b.once.Do(func() { close(b.done) }) }

// Addr implements net.Listener.
func (b *branch) Addr() net.Addr { return b.addr }
