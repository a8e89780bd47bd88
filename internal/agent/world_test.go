package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/sock"
)

// world is an agent on a socket of its own, with a folder of pods, and no plugin.
type world struct {
	t      testing.TB
	dir    string
	socket string
	config string
	stop   func() error
	log    *syncBuffer
}

// newWorld starts an agent with this configuration and waits until it is past
// its recovery.
func newWorld(t testing.TB, config string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, dir: dir, socket: testSocket(t, dir), config: filepath.Join(dir, "config.yaml")}
	w.must(os.Mkdir(filepath.Join(dir, "pods"), 0o755))
	w.configure(config)
	w.start()
	t.Cleanup(func() { w.must(w.stop()) })
	return w
}

// testSocket is a path short enough for a unix socket, or a pipe's name.
func testSocket(t testing.TB, dir string) string {
	if runtime.GOOS == "windows" {
		return `\\.\pipe\evenkeel-test-` + filepath.Base(filepath.Dir(dir)) + filepath.Base(dir)
	}
	short, err := os.MkdirTemp("", "ek")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	return filepath.Join(short, "run", "agent.sock")
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) configure(text string) {
	w.t.Helper()
	w.must(os.WriteFile(w.config, []byte("install: {enabled: false}\nlisten: none\n"+text), 0o644))
}

// start runs the agent on the folder of pods; stop ends it.
func (w *world) start() { w.run(func(*Options) {}) }

func (w *world) run(change func(*Options)) {
	w.t.Helper()
	conf, err := agentconfig.Load(w.config, runtime.GOOS)
	w.must(err)
	conf.Socket = w.socket
	w.log = &syncBuffer{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	o := Options{
		ConfigFile: w.config, Config: conf, Source: filepath.Join(w.dir, "pods"),
		flags: runFlags{socket: w.socket},
	}
	o.Log, o.Level, _ = newLogger(conf.Log, w.log)
	change(&o)
	go func() { ended <- Serve(ctx, o) }()
	w.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	w.eventually("the agent answers", func() bool {
		_, err := askAgent(context.Background(), w.socket)
		return err == nil
	})
}

// settled waits until the agent gives turns.
func (w *world) settled() *world {
	w.t.Helper()
	w.eventually("the recovery after a start ends", func() bool { return !w.status().Queue.Recovering })
	return w
}

func (w *world) status() Status {
	w.t.Helper()
	s, err := askAgent(context.Background(), w.socket)
	w.must(err)
	return s
}

// get gives what the agent serves at a path of its socket.
func (w *world) get(path string) string {
	w.t.Helper()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return httpConn{w.dial()}, nil },
	}}
	resp, err := client.Get("http://agent" + path)
	w.must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	w.must(err)
	return string(text)
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("never happened: %s\nlog:\n%s", what, w.log)
		}
	}
}

// pod writes a pod's file.
func (w *world) pod(p *corev1.Pod) {
	w.t.Helper()
	data, err := json.Marshal(p)
	w.must(err)
	path := filepath.Join(w.dir, "pods", p.Name+".json")
	w.must(os.WriteFile(path+".tmp", data, 0o644))
	w.must(os.Rename(path+".tmp", path))
}

// start is one ADD as an executable sees it.
type start struct {
	*paceapi.Client
	t testing.TB
}

// add asks for a pod's start.
func (w *world) add(name string, change ...func(*paceapi.Request)) *start {
	w.t.Helper()
	r := paceapi.Request{
		UID: "uid-" + name, Namespace: "shop", Name: name, Container: "sandbox-" + name, IfName: "eth0",
		Remaining: paceapi.Millis(time.Minute),
	}
	for _, c := range change {
		c(&r)
	}
	s := &start{Client: paceapi.NewClient(w.dial()), t: w.t}
	w.must(s.Request(r))
	return s
}

func (w *world) dial() sock.Conn {
	w.t.Helper()
	conn, err := sock.Dial(w.socket, time.Now().Add(5*time.Second))
	w.must(err)
	return conn
}

// await reads until the answer.
func (s *start) await(patience time.Duration) (paceapi.Message, error) {
	for deadline := time.Now().Add(patience); ; {
		m, err := s.Next(deadline)
		if err != nil || m.Type != paceapi.TypeWaiting {
			return m, err
		}
	}
}

// granted fails the test unless the start is let through soon.
func (s *start) granted() *start {
	s.t.Helper()
	m, err := s.await(20 * time.Second)
	if err != nil || m.Type != paceapi.TypeGrant {
		s.t.Fatalf("got %+v, %v; want a grant", m, err)
	}
	if err := s.Ack(); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// waits fails the test unless the start is still waiting after a moment.
func (s *start) waits() *start {
	s.t.Helper()
	m, err := s.await(300 * time.Millisecond)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatalf("got %+v, %v; want it to wait", m, err)
	}
	return s
}

func (s *start) refused() string {
	s.t.Helper()
	m, err := s.await(20 * time.Second)
	if err != nil || m.Type != paceapi.TypeRefuse {
		s.t.Fatalf("got %+v, %v; want a refusal", m, err)
	}
	return m.Place.Reason
}

// done reports the end of the plugin.
func (s *start) done(exit int) {
	s.t.Helper()
	if err := errors.Join(s.Done(paceapi.Done{Duration: paceapi.Millis(time.Millisecond), Exit: exit}), s.Close()); err != nil {
		s.t.Fatal(err)
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func limit(n int) string { return fmt.Sprintf("pace: {limits: {maxConcurrent: %d}}\n", n) }
