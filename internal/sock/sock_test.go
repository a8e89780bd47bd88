package sock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/sock"
	"evenkeel.dev/evenkeel/internal/sock/listen"
)

// address is a path of its own for one test.
func address(t *testing.T) string {
	if runtime.GOOS == "windows" {
		return fmt.Sprintf(`\\.\pipe\evenkeel-test-%d-%s`, os.Getpid(), t.Name())
	}
	// Not t.TempDir: its names may exceed what a socket address can hold.
	dir, err := os.MkdirTemp("", "sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "run", "agent.sock")
}

// soon bounds one call that must not hang.
func soon() time.Time { return time.Now().Add(20 * time.Second) }

// deadline bounds one step of a test that must not hang.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func listenT(t *testing.T, path string) net.Listener {
	t.Helper()
	l, err := listen.On(deadline(t), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// echo answers every line of every connection with the same line.
func echo(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_, _ = io.Copy(conn, conn)
		}()
	}
}

func roundTrip(t *testing.T, path, line string) {
	t.Helper()
	conn, err := sock.Dial(path, soon())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	roundTripOn(t, conn, line)
}

func roundTripOn(t *testing.T, conn sock.Conn, line string) {
	t.Helper()
	if err := conn.SetReadDeadline(soon()); err != nil {
		t.Error(err)
	}
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		t.Error(err)
	}
	if got, err := bufio.NewReader(conn).ReadString('\n'); err != nil || got != line+"\n" {
		t.Errorf("echo of %q: got %q, %v", line, got, err)
	}
}

func TestManyClientsTalkAtOnce(t *testing.T) {
	path := address(t)
	go echo(listenT(t, path))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { roundTrip(t, path, fmt.Sprint("line ", i)) })
	}
	wg.Wait()
}

func TestDialFailsAtOnceWhenNobodyListens(t *testing.T) {
	start := time.Now()
	conn, err := sock.Dial(address(t), soon())
	if err == nil {
		_ = conn.Close()
		t.Fatal("got a connection")
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestReadEndsAtItsDeadline(t *testing.T) {
	path := address(t)
	go echo(listenT(t, path))
	conn, err := sock.Dial(path, soon())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, patience := range []time.Duration{20 * time.Millisecond, -time.Second} {
		start := time.Now()
		_ = conn.SetReadDeadline(start.Add(patience))
		if _, err := conn.Read(make([]byte, 1)); !isTimeout(err) {
			t.Errorf("got %v, want a timeout", err)
		}
		if d := time.Since(start); d < patience {
			t.Errorf("ended after %v, %v too early", d, patience-d)
		}
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func TestServerSeesTheClientHangUp(t *testing.T) {
	path := address(t)
	l := listenT(t, path)
	got := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			got <- err
			return
		}
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
		got <- err
	}()
	conn, err := sock.Dial(path, soon())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	select {
	case err := <-got:
		if err == nil {
			t.Error("read succeeded after the hang-up")
		}
	case <-deadline(t).Done():
		t.Error("the server never noticed")
	}
}

func TestClosingEndsAReadThatWaits(t *testing.T) {
	path := address(t)
	go echo(listenT(t, path))
	conn, err := sock.Dial(path, soon())
	if err != nil {
		t.Fatal(err)
	}
	roundTripOn(t, conn, "so that the next read is the one that waits")
	got := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		got <- err
	}()
	_ = conn.Close()
	select {
	case err := <-got:
		if err == nil {
			t.Error("read succeeded after the close")
		}
	case <-deadline(t).Done():
		t.Error("the read went on")
	}
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Error("wrote to a closed connection")
	}
}

func TestSuccessorListensOnceTheOldServerLeaves(t *testing.T) {
	path := address(t)
	old := listenT(t, path)

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := listen.On(short, path); !errors.Is(err, listen.ErrInUse) {
		t.Fatalf("while the old server is there: got %v, want %v", err, listen.ErrInUse)
	}

	got := make(chan net.Listener, 1)
	go func() {
		l, err := listen.On(deadline(t), path)
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	_ = old.Close()
	l := <-got
	if l == nil {
		return
	}
	defer l.Close()
	go echo(l)
	roundTrip(t, path, "served by the successor")
}
