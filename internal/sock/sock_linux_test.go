package sock_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/sock"
	"evenkeel.dev/evenkeel/internal/sock/listen"
)

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestOnlyTheOwnerReachesTheSocket(t *testing.T) {
	path := address(t)
	listenT(t, path)
	if got := modeOf(t, path); got != 0o600 {
		t.Errorf("socket has mode %#o, want 0600", got)
	}
	if got := modeOf(t, filepath.Dir(path)); got != 0o700 {
		t.Errorf("folder has mode %#o, want 0700", got)
	}
}

func TestSocketOfADeadServerIsReplaced(t *testing.T) {
	path := address(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	go echo(listenT(t, path))
	roundTrip(t, path, "alive")
}

func TestWideFolderIsTightenedOnlyWhenItIsOurs(t *testing.T) {
	path := address(t)
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "containerd.sock")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen.On(t.Context(), path); err == nil || !strings.Contains(err.Error(), "holds containerd.sock") {
		t.Errorf("in a shared folder: got %v", err)
	}
	if got := modeOf(t, dir); got != 0o755 {
		t.Errorf("the shared folder's mode became %#o", got)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	listenT(t, path)
	if got := modeOf(t, dir); got != 0o700 {
		t.Errorf("our folder has mode %#o, want 0700", got)
	}
}

func stay(t *testing.T, path string) *listen.Steady {
	t.Helper()
	l, err := listen.Stay(deadline(t), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go echo(l)
	return l
}

func TestARemovedSocketIsMadeAgain(t *testing.T) {
	path := address(t)
	for what, remove := range map[string]func() error{
		"the socket":   func() error { return os.Remove(path) },
		"the folder":   func() error { return os.RemoveAll(filepath.Dir(path)) },
		"a stray file": func() error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		t.Run(what, func(t *testing.T) {
			l := stay(t, path)
			if lost, err := l.Check(); lost != nil || err != nil {
				t.Fatalf("all is well, but Check says %v, %v", lost, err)
			}
			before, err := sock.Dial(path, soon())
			if err != nil {
				t.Fatal(err)
			}
			defer before.Close()
			roundTripOn(t, before, "before")
			if err := remove(); err != nil {
				t.Fatal(err)
			}
			if lost, err := l.Check(); err != nil || lost == nil || !strings.Contains(lost.Error(), "the socket was removed") {
				t.Fatalf("Check says %v, %v", lost, err)
			}
			roundTrip(t, path, "listening again")
			roundTripOn(t, before, "connections stay")
			if got := modeOf(t, path); got != 0o600 {
				t.Errorf("socket has mode %#o, want 0600", got)
			}
			if lost, err := l.Check(); lost != nil || err != nil {
				t.Errorf("afterwards Check says %v, %v", lost, err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket outlives its server: %v", err)
			}
		})
	}
}

// Whoever could listen because the files had been removed is left alone, and
// served by nobody else.
func TestNobodyListensBesideASuccessor(t *testing.T) {
	path := address(t)
	old := stay(t, path)
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	successor := listenT(t, path)
	go echo(successor)
	for range 2 {
		if lost, err := old.Check(); lost == nil || !errors.Is(err, listen.ErrInUse) {
			t.Fatalf("Check says %v, %v; want %v", lost, err, listen.ErrInUse)
		}
	}
	roundTrip(t, path, "the successor's socket is still there")
	if err := successor.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Check(); err != nil {
		t.Fatal(err)
	}
	roundTrip(t, path, "listening again")

	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	successor = listenT(t, path)
	go echo(successor)
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	roundTrip(t, path, "closing takes no other's socket away")
}

func TestClosingEndsAnAcceptThatWaitsForAnAddress(t *testing.T) {
	path := address(t)
	l := stay(t, path)
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	listenT(t, path)
	if _, err := l.Check(); !errors.Is(err, listen.ErrInUse) {
		t.Fatalf("got %v, want %v", err, listen.ErrInUse)
	}
	got := make(chan error, 1)
	go func() { _, err := l.Accept(); got <- err }()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-got:
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want %v", err, net.ErrClosed)
		}
	case <-deadline(t).Done():
		t.Error("the wait went on")
	}
	if lost, err := l.Check(); lost != nil || err != nil {
		t.Errorf("after the end Check says %v, %v", lost, err)
	}
}

// listenAs makes a listening socket with the effective uid given.
func listenAs(t *testing.T, path string, uid uintptr) net.Listener {
	t.Helper()
	var l net.Listener
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The account belongs to this thread, which ends with the goroutine.
		runtime.LockOSThread()
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uid, ^uintptr(0)); errno != 0 {
			err = errno
			return
		}
		l, err = net.Listen("unix", path)
	}()
	<-done
	if err != nil {
		t.Fatalf("listening as uid %d: %v", uid, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestServerOfAStrangerIsNotTrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can act as somebody else")
	}
	path := address(t)
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for d, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o777} {
		if err := os.Chmod(d, mode); err != nil {
			t.Fatal(err)
		}
	}
	listenAs(t, path, 65534)
	conn, err := sock.Dial(path, soon())
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, sock.ErrUnprivileged) {
		t.Errorf("got %v, want %v", err, sock.ErrUnprivileged)
	}
}

func TestWriteToAnAgentThatDoesNotReadFailsInsteadOfWaiting(t *testing.T) {
	path := address(t)
	listenT(t, path) // and never accepts
	conn, err := sock.Dial(path, soon())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 10_000 {
		if _, err = conn.Write(make([]byte, 1024)); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("got %v, want %v", err, syscall.EAGAIN)
	}
}

// busyServer has room for one connection, and never accepts.
func busyServer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	conn, err := sock.Dial(path, soon())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return path
}

func TestDialWaitsForATooBusyServerUntilItsTime(t *testing.T) {
	path := busyServer(t)
	start := time.Now()
	if _, err := sock.Dial(path, start.Add(50*time.Millisecond)); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("got %v, want %v", err, syscall.EAGAIN)
	}
	if d := time.Since(start); d < 50*time.Millisecond {
		t.Errorf("gave up after %v", d)
	}
}
