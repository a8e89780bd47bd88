package sock

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is a connected stream socket that blocks. Go's poller, which net and os
// would use, costs a process of a few milliseconds a thread and a dozen calls.
type conn struct {
	fd       int
	deadline time.Time // of the next read; belongs to the reader
	closed   atomic.Bool
	inUse    sync.RWMutex // held to use fd, and by Close alone to give it back
}

// use calls f unless c is closed; fd stays ours meanwhile.
func (c *conn) use(f func() error) error {
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	if c.closed.Load() {
		return os.ErrClosed
	}
	return f()
}

// SetReadDeadline implements Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

// Read implements io.Reader.
func (c *conn) Read(p []byte) (n int, err error) {
	err = c.use(func() error {
		n, err = 0, syscall.EINTR
		for errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.EAGAIN) { // EAGAIN: the kernel's time is over, maybe not ours
			if err := c.boundRead(); err != nil {
				return err
			}
			n, err = syscall.Read(c.fd, p)
		}
		switch {
		case err != nil:
			return os.NewSyscallError("read", err)
		case n == 0 && len(p) > 0:
			return io.EOF
		}
		return nil
	})
	return max(n, 0), err
}

// boundRead lets the next read wait until the deadline.
func (c *conn) boundRead() error {
	var left time.Duration // zero is for ever, to the kernel too
	if !c.deadline.IsZero() {
		// The kernel takes microseconds, of which none is for ever; by its timers the wait may end somewhat late.
		if left = time.Until(c.deadline); left < time.Microsecond {
			return os.ErrDeadlineExceeded
		}
	}
	tv := syscall.NsecToTimeval(int64(left))
	return os.NewSyscallError("setsockopt", syscall.SetsockoptTimeval(c.fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &tv))
}

// Write implements io.Writer. It never waits: what does not fit into the
// kernel's buffer is an error.
func (c *conn) Write(p []byte) (n int, err error) {
	err = c.use(func() error {
		for n < len(p) {
			k, err := syscall.SendmsgN(c.fd, p[n:], nil, nil, syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil {
				return os.NewSyscallError("sendmsg", err)
			}
			n += k
		}
		return nil
	})
	return n, err
}

// Close implements io.Closer. It wakes a reader and waits for it to leave, so
// that its descriptor is never another file's by then.
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return os.ErrClosed
	}
	_ = syscall.Shutdown(c.fd, syscall.SHUT_RDWR)
	c.inUse.Lock()
	defer c.inUse.Unlock()
	return os.NewSyscallError("close", syscall.Close(c.fd))
}
