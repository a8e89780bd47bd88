package agent

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/paceserver"
	"evenkeel.dev/evenkeel/internal/sock"
)

// flood connects for n pods at once and tells what each was told first: "waits",
// the reason of a refusal, or "hung up".
func (w *world) flood(n int) ([]string, []*paceapi.Client) {
	w.t.Helper()
	said, clients := make([]string, n), make([]*paceapi.Client, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { said[i], clients[i] = w.first(fmt.Sprint("pod-", i)) })
	}
	all.Wait()
	return said, clients
}

func (w *world) first(name string) (string, *paceapi.Client) {
	conn, err := sock.Dial(w.socket, time.Now().Add(20*time.Second))
	if err != nil {
		return "cannot connect: " + err.Error(), nil
	}
	c := paceapi.NewClient(conn)
	if err := c.Request(paceapi.Request{UID: "uid-" + name, Namespace: "shop", Name: name, Remaining: paceapi.Millis(2 * time.Minute)}); err != nil {
		return "hung up", c
	}
	m, err := c.Next(time.Now().Add(20 * time.Second))
	switch {
	case errors.Is(err, paceapi.ErrHungUp):
		return "hung up", c
	case err != nil:
		return err.Error(), c
	case m.Type == paceapi.TypeWaiting:
		return "waits", c
	}
	_ = c.Close()
	return m.Place.Reason, c
}

func TestThousandsOfConnectionsAreToldToComeBackAndServedAgain(t *testing.T) {
	const connections = 3000
	w := newWorld(t, "pace: {limits: {maxConcurrent: 1}, attempt: 120s, refusalsPerSecond: 1000}\n").settled()
	holder := w.add("holder").granted()
	said, clients := w.flood(connections)
	told, waits := map[string]int{}, -1
	for i, s := range said {
		told[s]++
		if s == "waits" {
			waits = i
		}
	}
	polite := 0
	for s, n := range told {
		switch {
		case strings.HasPrefix(s, "the node agent already serves 1000 starts"), strings.HasSuffix(s, "no more are queued"):
			polite += n
		case s != "waits" && s != "hung up":
			t.Errorf("%d were told %q", n, s)
		}
	}
	if told["waits"] != paceserver.DefaultMaxConns-1 || polite == 0 { // the holder is connected as well
		t.Errorf("%d wait, want %d; %d were told to come back: %v", told["waits"], paceserver.DefaultMaxConns-1, polite, told)
	}
	t.Logf("of %d: %v", connections, told)
	if s := w.status(); s.Connections != paceserver.DefaultMaxConns || len(s.Problems) > 0 {
		t.Errorf("while they wait: %d connections, problems %q", s.Connections, s.Problems)
	}

	for _, c := range clients {
		if c != nil {
			_ = c.Close()
		}
	}
	w.eventually("all but the holder have left", func() bool { return w.status().Connections == 1 })
	holder.done(1)
	w.add(fmt.Sprint("pod-", waits)).granted()
}
