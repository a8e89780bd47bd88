package cni

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/paceserver"
	"evenkeel.dev/evenkeel/internal/sock"
)

// stage is a machine with a plugin, on which time is the bubble's.
type stage struct {
	t      *testing.T
	bin    string
	uptime time.Duration
	hold   time.Duration          // how long the original takes
	agent  func(*paceserver.Peer) // answers each request; nil where nobody listens
	leaves time.Duration          // when the agent is gone, counted from the beginning; 0 is never
	serve  func(net.Conn)         // instead of agent: every word
	began  time.Time
	mu     sync.Mutex
	now    int // originals running
	most   int
	ends   []ending
}

// ending is how one attempt ended.
type ending struct {
	pod    string
	exit   int
	at     time.Duration // since the beginning
	ran    time.Duration // when the original began; negative if it did not run
	stdout string
	// straight says that the process became the original.
	straight bool
}

func onStage(t *testing.T, s Settings, test func(*stage)) {
	bin := plant(t, "bin/bridge"+executableSuffix, "bin/evenkeel/bridge"+executableSuffix)
	bin = filepath.Join(bin, "bin")
	if err := WriteSettings(filepath.Join(bin, OriginalDir), s); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(6 * time.Minute) // until agents have said their last words
		test(&stage{t: t, bin: bin, uptime: time.Hour, began: time.Now()})
	})
}

// Request implements paceserver.Handler.
func (s *stage) Request(_ paceapi.Request, p *paceserver.Peer) paceserver.Session {
	s.agent(p)
	return indifferent{}
}

type indifferent struct{}

func (indifferent) Ack()              {}
func (indifferent) Done(paceapi.Done) {}
func (indifferent) Gone()             {}

func (s *stage) dial(string, time.Time) (sock.Conn, error) {
	stays := 5 * time.Minute // longer than any attempt
	if s.leaves != 0 {
		stays = s.leaves - time.Since(s.began)
	}
	if s.agent == nil && s.serve == nil || stays <= 0 {
		return nil, errors.New("nobody listens")
	}
	here, there := net.Pipe()
	if s.serve != nil {
		go s.serve(there)
		return here, nil
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	l := &oneConn{conn: make(chan net.Conn, 1), done: ctx.Done()}
	l.conn <- there
	go func() {
		defer cancel()
		_ = (&paceserver.Server{Handler: s}).Serve(ctx, l)
	}()
	time.AfterFunc(stays, cancel)
	return here, nil
}

// oneConn is a listener that has one connection to give.
type oneConn struct {
	conn chan net.Conn
	done <-chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return nil }

// stageExec runs an original that only takes its time.
type stageExec struct {
	*stage
	ending *ending
}

// Replace implements Exec as on Windows, by which the original is a child.
func (e stageExec) Replace(string, string) error {
	e.ending.straight = true
	return errors.ErrUnsupported
}

func (e stageExec) Run(string, string) (int, error) {
	e.ending.ran = time.Since(e.began)
	e.mu.Lock()
	e.now++
	e.most = max(e.most, e.now)
	hold := e.hold
	e.mu.Unlock()
	time.Sleep(hold)
	e.mu.Lock()
	e.now--
	e.mu.Unlock()
	return 0, nil
}

const stdinConf = `{"cniVersion":"0.3.0","name":"azure","type":"azure-vnet"}`

// add runs one attempt to start a pod.
func (s *stage) add(pod string) ending {
	return s.addWith(pod, strings.NewReader(stdinConf))
}

func (s *stage) addWith(pod string, stdin io.Reader) ending {
	plugin := filepath.Join(s.bin, "bridge"+executableSuffix)
	env := map[string]string{"CNI_COMMAND": "ADD", "CNI_ARGS": "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=" + pod + ";K8S_POD_UID=uid-" + pod}
	var stdout bytes.Buffer
	e := ending{pod: pod, ran: -1}
	e.exit = Run(Host{
		Args: []string{plugin}, Getenv: func(k string) string { return env[k] },
		Executable: func() (string, error) { return plugin, nil },
		Stdin:      stdin, Stdout: &stdout, Dial: s.dial, Exec: stageExec{s, &e},
		Uptime: func() (time.Duration, error) { return s.uptime, nil }, CPUs: 4,
	})
	e.at, e.stdout = time.Since(s.began), stdout.String()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, e)
	return e
}

// herd starts many pods at once and waits for all attempts to end.
func (s *stage) herd(pods int) {
	var wg sync.WaitGroup
	for i := range pods {
		wg.Go(func() { s.add(fmt.Sprintf("pod-%02d", i)) })
	}
	wg.Wait()
}

func (s *stage) refused() []ending {
	r := slices.DeleteFunc(slices.Clone(s.ends), func(e ending) bool { return e.ran >= 0 })
	slices.SortFunc(r, func(a, b ending) int { return cmp.Compare(a.at, b.at) })
	return r
}

// within fails the test unless got lies between two instants.
func within(t *testing.T, what string, got, from, to time.Duration) {
	t.Helper()
	if got < from || got > to {
		t.Errorf("%s after %v, want %v to %v", what, got, from, to)
	}
}

func TestAgentThatKeepsTalkingIsListenedToUntilTheDeadline(t *testing.T) {
	onStage(t, Settings{Attempt: seconds(40)}, func(s *stage) {
		s.agent = func(p *paceserver.Peer) {
			go func() {
				for range 9 {
					p.Waiting(paceapi.Place{Rank: 3, Length: 9, Reason: "limit 2"})
					time.Sleep(paceapi.KeepAlive)
				}
			}()
		}
		e := s.add("cart-0")
		within(t, "the attempt ended", e.at, 40*time.Second, 41*time.Second)
		want := `{"cniVersion":"0.3.0","code":11,"msg":"paced: 3rd of 9 on this node: limit 2"}` + "\n"
		if e.exit != 1 || e.stdout != want {
			t.Errorf("exit code %d, %s, want %s", e.exit, e.stdout, want)
		}
	})
}

func TestCallerThatNeverEndsItsConfigurationIsAnsweredAllTheSame(t *testing.T) {
	onStage(t, Settings{}, func(s *stage) {
		s.agent = func(p *paceserver.Peer) { p.Refuse(paceapi.Place{}) }
		never, stop := io.Pipe()
		defer stop.Close()
		e := s.addWith("cart-0", never)
		within(t, "answer", e.at, 0, configWait+time.Second)
		if !strings.Contains(e.stdout, `"cniVersion":"`+fallbackVersion+`"`) {
			t.Errorf("stdout: %s", e.stdout)
		}
	})
}

func TestVersionOfTheAnswerIsTheConfigurations(t *testing.T) {
	for conf, want := range map[string]string{
		`{"name":"azure","cniVersion":"0.3.0"}`: "0.3.0",
		`{"cniVersion":"1.1.0"} and no more`:    "1.1.0",
		`{"name":"azure"}`:                      fallbackVersion,
		`{"cniVersion":7}`:                      fallbackVersion,
		`{"name":`:                              fallbackVersion,
		``:                                      fallbackVersion,
	} {
		if got := configVersion(strings.NewReader(conf)); got != want {
			t.Errorf("%q: got %s, want %s", conf, got, want)
		}
	}
}

func TestMessagesSayWhatAPodWaitsFor(t *testing.T) {
	place := func(rank int, reason string) *refusal {
		return &refusal{Place: paceapi.Place{Rank: rank, Length: 40, Reason: reason}}
	}
	for want, p := range map[string]problem{
		"paced: 1st of 40 on this node: limit 2":                     {refused: place(1, "limit 2")},
		"paced: 2nd of 40 on this node: limit 2":                     {refused: place(2, "limit 2")},
		"paced: 11th of 40 on this node: limit 2":                    {refused: place(11, "limit 2")},
		"paced: 23rd of 40 on this node":                             {refused: place(23, "")},
		"paced: the plugin is being replaced":                        {refused: &refusal{Place: paceapi.Place{Reason: "the plugin is being replaced"}}},
		"paced without the node agent: no slot":                      {refused: &refusal{byUs: true, Place: paceapi.Place{Reason: "no slot"}}},
		"evenkeel: the disk is gone":                                 {err: errors.New("the disk is gone")},
		"evenkeel: running the original plugin x: permission denied": {err: os.ErrPermission, original: "x"},
	} {
		if got := p.message(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAnswerIsOneJSONObjectWhateverTheReason(t *testing.T) {
	var stdout bytes.Buffer
	c := &call{Host: Host{Stdin: strings.NewReader(""), Stdout: &stdout}}
	reason := "quo\"te \\ \n \x00 \xff <>&"
	c.fail(problem{refused: &refusal{Place: paceapi.Place{Reason: reason}}})
	var e struct{ Code int }
	if err := json.Unmarshal(stdout.Bytes(), &e); err != nil || e.Code != tryAgainLater || bytes.Count(stdout.Bytes(), []byte("\n")) != 1 {
		t.Errorf("%v: %s", err, stdout.Bytes())
	}
}
