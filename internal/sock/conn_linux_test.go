package sock

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// pair gives a connection and the other end's descriptor.
func pair(t *testing.T) (*conn, int) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fds[1]) })
	return &conn{fd: fds[0]}, fds[1]
}

// awaitReader waits until somebody reads from c.
func awaitReader(t *testing.T, c *conn) {
	t.Helper()
	for start := time.Now(); c.inUse.TryLock(); runtime.Gosched() {
		c.inUse.Unlock()
		if time.Since(start) > 20*time.Second {
			t.Fatal("nobody reads")
		}
	}
}

func TestCloseWakesTheReaderAndWritersPassHim(t *testing.T) {
	c, other := pair(t)
	got := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		got <- err
	}()
	awaitReader(t, c)
	if _, err := c.Write([]byte("x")); err != nil {
		t.Errorf("writing while another reads: %v", err)
	}
	if n, err := syscall.Read(other, make([]byte, 8)); n != 1 || err != nil {
		t.Errorf("the other end got %d bytes, %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-got:
		if err == nil {
			t.Error("the read succeeded")
		}
	case <-time.After(20 * time.Second):
		t.Error("the read went on")
	}
}
