package paceserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/paceapi"
)

// lobby is a listener whose connections never leave the process, so that a
// synctest bubble can hold both ends and the clock.
type lobby struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newLobby() *lobby { return &lobby{conns: make(chan net.Conn), done: make(chan struct{})} }

func (l *lobby) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *lobby) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *lobby) Addr() net.Addr { return &net.UnixAddr{Name: "lobby", Net: "unix"} }
func (l *lobby) dial() net.Conn {
	here, there := net.Pipe()
	l.conns <- there
	return here
}

// desk is a handler that notes what it is told.
type desk struct {
	mu    sync.Mutex
	notes []string
	peers []*Peer
}

func (d *desk) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func (d *desk) Request(r paceapi.Request, p *Peer) Session {
	d.note("request %s", r.Name)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peers = append(d.peers, p)
	return visitor{d, r.Name}
}

func (d *desk) told() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.notes...)
}

type visitor struct {
	*desk
	name string
}

func (v visitor) Ack() { v.note("ack %s", v.name) }
func (v visitor) Done(d paceapi.Done) {
	v.note("done %s exit %d after %v", v.name, d.Exit, time.Duration(d.Duration))
}
func (v visitor) Gone() { v.note("gone %s", v.name) }

// world is a running server in a bubble.
type world struct {
	*lobby
	*desk
	t    *testing.T
	stop context.CancelFunc
}

func inWorld(t *testing.T, maxConns int, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &world{newLobby(), &desk{}, t, cancel}
		s := &Server{Handler: w.desk, Agent: "v9", MaxConns: maxConns, Problem: func(err error) { w.note("problem: %v", err) }}
		ended := make(chan error)
		go func() { ended <- s.Serve(ctx, w.lobby) }()
		test(w)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
}

func (w *world) want(notes ...string) {
	w.t.Helper()
	if diff := cmp.Diff(notes, w.told()); diff != "" {
		w.t.Errorf("the handler was told (-want +got):\n%s", diff)
	}
}

func (w *world) request(name string) *paceapi.Client {
	w.t.Helper()
	c := paceapi.NewClient(w.dial())
	if err := c.Request(paceapi.Request{Namespace: "shop", Name: name, Remaining: paceapi.Millis(time.Minute)}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	return c
}

// next reads one line of the agent's while act makes it say it.
func (w *world) next(c *paceapi.Client, act func()) (paceapi.Message, error) {
	var m paceapi.Message
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { m, err = c.Next(time.Now().Add(paceapi.Silence)) })
	act()
	wg.Wait()
	return m, err
}

func TestGrantedStartIsToldFromRequestToDone(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		c := w.request("cart-0")
		at := paceapi.Place{Rank: 2, Length: 7, Reason: "limit 3"}
		m, err := w.next(c, func() { w.peers[0].Waiting(at) })
		if diff := cmp.Diff(paceapi.Message{Type: paceapi.TypeWaiting, Place: at}, m); err != nil || diff != "" {
			t.Errorf("waiting: %v %s", err, diff)
		}
		if m, err := w.next(c, w.peers[0].Grant); err != nil || m.Type != paceapi.TypeGrant {
			t.Errorf("grant: %v %v", m, err)
		}
		if err := errors.Join(c.Ack(), c.Done(paceapi.Done{Duration: paceapi.Millis(time.Second), Exit: 3}), c.Close()); err != nil {
			t.Error(err)
		}
		w.want("request cart-0", "ack cart-0", "done cart-0 exit 3 after 1s", "gone cart-0")
	})
}

func TestHangingUpIsACancel(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		_ = w.request("cart-0").Close()
		w.want("request cart-0", "gone cart-0")
	})
}

func TestExecutableThatDiesWhileItsPluginRunsIsNotDone(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		c := w.request("cart-0")
		_, _ = w.next(c, w.peers[0].Grant)
		_ = errors.Join(c.Ack(), c.Close())
		w.want("request cart-0", "ack cart-0", "gone cart-0")
	})
}

func TestRefusalCarriesPlaceAndReason(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		c := w.request("cart-0")
		at := paceapi.Place{Rank: 12, Length: 40, Reason: "3 pods are starting, limit 3"}
		m, err := w.next(c, func() { w.peers[0].Refuse(at) })
		if diff := cmp.Diff(paceapi.Message{Type: paceapi.TypeRefuse, Place: at}, m); err != nil || diff != "" {
			t.Errorf("refuse: %v %s", err, diff)
		}
		w.peers[0].Grant() // too late, and must not reach anybody
		w.want("request cart-0")
		time.Sleep(2 * lastWords)
		w.want("request cart-0", "gone cart-0")
	})
}

func TestEndOfTheAgentHangsUpOnEverybodyOnce(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		a, b := w.request("a"), w.request("b")
		w.stop()
		for _, c := range []*paceapi.Client{a, b} {
			if _, err := c.Next(time.Time{}); err == nil {
				t.Error("a client was not hung up on")
			}
		}
		got := w.told()
		for _, note := range []string{"gone a", "gone b"} {
			if strings.Count(strings.Join(got, "\n")+"\n", note+"\n") != 1 {
				t.Errorf("want %q once in %q", note, got)
			}
		}
	})
}

func TestPingIsAnsweredWithTheAgentsVersion(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		c := paceapi.NewClient(w.dial())
		agent, err := c.Ping(time.Now().Add(time.Second))
		if err != nil || agent != "v9" {
			t.Errorf("got %q, %v", agent, err)
		}
		_ = c.Close()
		w.want()
	})
}

// badOpening sends bytes and gives the line that comes back.
func (w *world) badOpening(text string) (paceapi.Message, error) {
	conn := w.dial()
	defer conn.Close()
	go func() { _, _ = conn.Write([]byte(text)) }()
	c := &paceapi.Lines{Conn: conn}
	return c.Receive()
}

func TestWhatCannotBeUnderstoodIsAnsweredAndClosed(t *testing.T) {
	for name, text := range map[string]string{
		"garbage":            "GET / HTTP/1.1\r\n",
		"wrong version":      `{"v":7,"type":"request","namespace":"a","name":"b"}` + "\n",
		"no name":            `{"v":1,"type":"request","namespace":"a"}` + "\n",
		"done first":         `{"v":1,"type":"done"}` + "\n",
		"a line without end": strings.Repeat("x", paceapi.MaxLine+512),
		"nothing at all":     "",
		"half a line":        `{"v":1,"ty`,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 0, func(w *world) {
				start := time.Now()
				m, err := w.badOpening(text)
				if err != nil || m.Type != paceapi.TypeError || m.Reason == "" {
					t.Errorf("got %+v, %v: want an error line", m, err)
				}
				if d := time.Since(start); d > paceapi.FirstAnswer {
					t.Errorf("answered after %v", d)
				}
				got := w.told()
				if len(got) != 1 || !strings.HasPrefix(got[0], "problem: ") {
					t.Errorf("the handler was told %q: want one problem", got)
				}
			})
		})
	}
}

func TestVersionMismatchSaysBothVersions(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		m, _ := w.badOpening(`{"v":7,"type":"request"}` + "\n")
		if want := "unknown protocol version 7: expected 1"; m.Reason != want {
			t.Errorf("got %q, want %q", m.Reason, want)
		}
	})
}

func TestSecondAckEndsTheConversation(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		c := w.request("cart-0")
		_ = c.Ack()
		_ = c.Ack()
		if _, err := c.Next(time.Now().Add(time.Second)); !errors.Is(err, paceapi.ErrRefusedLine) {
			t.Errorf("got %v, want %v", err, paceapi.ErrRefusedLine)
		}
		_ = c.Close()
		w.want("request cart-0", "ack cart-0", "problem: conversation with a CNI executable: unexpected ack line", "gone cart-0")
	})
}

func TestTooManyWaitersAreRefusedPolitelyButRunningOnesCount(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		first := w.request("first")
		second := paceapi.NewClient(w.dial())
		_ = second.Request(paceapi.Request{Namespace: "shop", Name: "second"})
		m, err := second.Next(time.Now().Add(time.Second))
		if err != nil || m.Type != paceapi.TypeRefuse || !strings.Contains(m.Place.Reason, "already serves 1 starts") {
			t.Errorf("second: got %+v, %v", m, err)
		}
		_ = second.Close()
		synctest.Wait()
		running := paceapi.NewClient(w.dial())
		_ = running.Request(paceapi.Request{Namespace: "shop", Name: "running", Running: true})
		w.want("request first", "request running")
		_ = errors.Join(first.Close(), running.Close())
	})
}

func TestPeerThatDoesNotReadIsHungUpOn(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		w.request("stuck") // net.Pipe holds nothing: nobody reads, nothing is written
		start := time.Now()
		w.peers[0].Waiting(paceapi.Place{Rank: 1, Length: 1})
		if d := time.Since(start); d > sendPatience {
			t.Errorf("the agent was held for %v", d)
		}
		w.want("request stuck", "gone stuck")
	})
}

func TestClientTellsSilenceFromHangUp(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		c := w.request("cart-0")
		if _, err := c.Next(time.Now().Add(paceapi.FirstAnswer)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v, want a deadline", err)
		}
		_ = c.Close()
	})
}
