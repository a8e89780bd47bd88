package main

import (
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

// atOnce gives how many ADDs of the plugin ran at the same time at most, and how
// many there were.
func (n *node) atOnce() (most, all int) {
	n.t.Helper()
	data, err := os.ReadFile(filepath.Join(n.dir, "calls"))
	n.must(err)
	running := 0
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		switch {
		case f[0] != "ADD":
		case f[2] == "begin":
			running++
			all++
			most = max(most, running)
		default:
			running--
		}
	}
	return most, all
}

func (n *node) wantPaced(limit, pods int) {
	n.t.Helper()
	if most, all := n.atOnce(); most > limit || all != pods {
		n.t.Fatalf("%d plugins ran at once, limit %d; %d ran in all for %d pods\nagent:\n%s", most, limit, all, pods, n.log)
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

func TestAHerdSurvivesAnUpgradeOfThePlugin(t *testing.T) {
	t.Parallel()
	n := newNode(t, herdConfig)
	n.start()
	n.ready()
	upgraded := make(chan struct{})
	time.AfterFunc(time.Second, func() {
		defer close(upgraded)
		// Windows does not overwrite what runs, so upgraders try again there.
		n.eventually("the new plugin is written", func() bool { return n.writePlugin("v2") == nil })
	})
	n.herd(6)
	<-upgraded
	n.eventually("the new plugin is adopted", func() bool {
		data, err := os.ReadFile(filepath.Join(n.bin, "evenkeel", filepath.Base(n.plugin)))
		return err == nil && strings.HasSuffix(string(data), "v2")
	})
	n.ready()
	if _, all := n.atOnce(); all != 6 {
		t.Fatalf("%d plugins ran for 6 pods", all)
	}
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
	n.must(os.Remove(n.plugin))
	n.must(os.WriteFile(n.plugin, []byte("half a plug-in"), 0o755))
	n.eventually("it is not ready behind a broken plugin", func() bool {
		s := n.status()
		return strings.Contains(s, `"ready": false`) && strings.Contains(s, "pods are not paced now")
	})
}
