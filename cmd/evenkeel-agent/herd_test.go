package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const herdConfig = `
pace: {limits: {maxConcurrent: 2}, attempt: 6s, slotTimeout: 20s}
pods: {settle: 1ms}
`

// herd starts so many pods at once and waits until all have started.
func (n *node) herd(pods int) {
	n.t.Helper()
	var wg sync.WaitGroup
	for i := range pods {
		wg.Go(func() {
			if err := n.startPod(fmt.Sprintf("pod-%d", i)); err != nil {
				n.t.Error(err)
			}
		})
	}
	wg.Wait()
	if n.t.Failed() {
		n.t.Fatalf("agent:\n%s", n.log)
	}
}

// adds are the plugin's ADDs so far.
type adds struct {
	most, all int // at the same time at most, and in all
	bare      int // besides those, past the stand-in
}

func (n *node) adds() adds {
	n.t.Helper()
	data, err := os.ReadFile(filepath.Join(n.dir, "calls"))
	if !errors.Is(err, os.ErrNotExist) { // none yet
		n.must(err)
	}
	var a adds
	running := 0
	for line := range strings.Lines(string(data)) {
		switch f := strings.Fields(line); {
		case f[0] != "ADD":
		case f[3] == "bare" && f[2] == "begin":
			a.bare++
		case f[3] == "bare":
		case f[2] == "begin":
			running++
			a.all++
			a.most = max(a.most, running)
		default:
			running--
		}
	}
	return a
}

// wantPaced also wants the limit to have been reached: a gate that lets one pod
// through at a time has not been tested.
func (n *node) wantPaced(limit, pods int) {
	n.t.Helper()
	if a := n.adds(); a != (adds{most: limit, all: pods}) {
		n.t.Fatalf("%+v for %d pods, limit %d\nagent:\n%s", a, pods, limit, n.log)
	}
}

func (n *node) ready() {
	n.t.Helper()
	n.eventually("the agent is ready", func() bool { return strings.Contains(n.status(), `"ready": true`) })
}

func TestAHerdStartsAtThePaceOfTheLimit(t *testing.T) {
	t.Parallel()
	n := newNode(t, herdConfig)
	n.start()
	n.ready()
	n.herd(8)
	n.wantPaced(2, 8)
}

func TestAHerdSurvivesTheDeathOfTheAgent(t *testing.T) {
	t.Parallel()
	n := newNode(t, herdConfig)
	n.start()
	n.ready()
	time.AfterFunc(time.Second, n.kill)
	n.herd(8)
	n.wantPaced(2, 8)
}

func TestAHerdSurvivesARestartOfTheAgent(t *testing.T) {
	t.Parallel()
	// Attempts long enough for the stand-ins to wait for the new agent, not for locks.
	n := newNode(t, strings.Replace(herdConfig, "attempt: 6s", "attempt: 30s", 1))
	n.pluginTime = time.Second
	n.start()
	n.ready()
	restarted := make(chan struct{})
	time.AfterFunc(2*time.Second, func() {
		defer close(restarted)
		n.kill()
		n.start()
	})
	n.herd(8)
	<-restarted
	n.wantPaced(2, 8)
}

// While the new plugin lies bare, pods may pass the stand-in by, but nobody who
// waits behind it is let through for that, and it is back within seconds.
func TestAHerdSurvivesAnUpgradeOfThePlugin(t *testing.T) {
	t.Parallel()
	n := newNode(t, herdConfig)
	n.pluginTime = time.Second
	n.start()
	n.ready()
	began := make(chan time.Time, 2)
	time.AfterFunc(time.Second, func() {
		defer close(began)
		// Windows does not overwrite what runs, so upgraders try again there.
		n.eventually("the new plugin is written", func() bool { return n.writePlugin("v2") == nil })
		began <- time.Now()
		n.eventually("the new plugin is adopted", func() bool { return n.standsInFor("v2") })
		began <- time.Now()
	})
	n.herd(8)
	overwritten, adopted := <-began, <-began
	if d := adopted.Sub(overwritten); d > adoption {
		t.Errorf("the stand-in was back after %s, want %s", d, adoption)
	}
	n.ready()
	a := n.adds()
	t.Logf("the stand-in was back after %s; %d pods passed it by", adopted.Sub(overwritten).Round(time.Millisecond), a.bare)
	if a.most != 2 || a.all+a.bare != 8 {
		t.Fatalf("%+v for 8 pods, limit 2\nagent:\n%s", a, n.log)
	}
	if _, err := n.call("ADD", "pod-0", 99); err != nil || n.adds().bare != a.bare {
		t.Errorf("an ADD after the adoption passes the stand-in by (%v)", err)
	}
}

// adoption is how long the return of the stand-in may take: it looks every
// second, twice, and process starts take long under Wine.
const adoption = 15 * time.Second

// standsInFor reports whether a version of the plugin is what lies behind the
// stand-in.
func (n *node) standsInFor(version string) bool {
	original, err := os.ReadFile(filepath.Join(n.bin, "evenkeel", filepath.Base(n.plugin)))
	if err != nil || !strings.HasSuffix(string(original), version) {
		return false
	}
	standIn, err := os.ReadFile(n.standIn)
	n.must(err)
	inPlace, err := os.ReadFile(n.plugin)
	return err == nil && bytes.Equal(inPlace, standIn)
}

func TestDELNeverWaitsForAnything(t *testing.T) {
	t.Parallel()
	n := newNode(t, herdConfig)
	n.start()
	n.ready()
	n.kill() // and nobody listens
	began := time.Now()
	if _, err := n.call("DEL", "gone", 1); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 3*time.Second { // a process start on a busy machine, or under Wine
		t.Fatalf("DEL took %s", took)
	}
}

func TestAnAgentIsReadyOnlyWhenItsStandInAnswers(t *testing.T) {
	t.Parallel()
	n := newNode(t, herdConfig)
	there := n.standIn
	n.standIn = filepath.Join(n.dir, "evenkeel-cni"+filepath.Ext(n.agent))
	n.start()
	n.eventually("the problem is named", func() bool { return strings.Contains(n.status(), "cannot be installed") })
	if s := n.status(); !strings.Contains(s, `"ready": false`) || !strings.Contains(s, `"listening": true`) {
		t.Fatalf("status without a stand-in: %s", s)
	}
	data, err := os.ReadFile(there)
	n.must(err)
	n.must(os.WriteFile(n.standIn+".tmp", data, 0o755))
	n.must(os.Rename(n.standIn+".tmp", n.standIn))
	n.ready()
	n.eventually("the plugin is overwritten", func() bool { // not while a call of it runs, on Windows
		return os.Remove(n.plugin) == nil && os.WriteFile(n.plugin, []byte("half a plug-in"), 0o755) == nil
	})
	n.eventually("it is not ready behind a broken plugin", func() bool {
		s := n.status()
		return strings.Contains(s, `"ready": false`) && strings.Contains(s, "pods are not paced now")
	})
}
