package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/install"
	"evenkeel.dev/evenkeel/internal/pace"
)

func printed(t *testing.T, r statusReport) string {
	t.Helper()
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func installed() *install.Status {
	return &install.Status{
		Installed: true,
		InPlace:   install.FileStatus{Path: "/opt/cni/bin/bridge", Kind: install.Regular, StandIn: true, Version: "v1.2.3", Size: 3_500_000, SHA256: "0123456789abcdef"},
		Original:  install.FileStatus{Path: "/opt/cni/bin/evenkeel/bridge", Kind: install.Regular, Size: 5_000_000, SHA256: "fedcba9876543210"},
	}
}

func TestStatusSaysWhyPodsWaitAndWhatSlotsWaitFor(t *testing.T) {
	second := pace.Duration(time.Second)
	agent := Status{
		Version: "v1.2.3", Started: time.Now().Add(-90 * time.Second),
		Conditions: Conditions{Installed: true, Listening: true},
		Pods:       PodsStatus{Source: "kubernetes", Known: 12},
		Policy:     PolicyStatus{Name: "windows"},
		Queue: pace.Snapshot{
			Limit: 1, LimitedBy: "pressure", Short: []pace.Shortage{{Of: "cpu", Now: 97.4, Above: 90}, {Of: "io", Now: 61, Above: 50}},
			NextStart: 20 * second, PluginMedian: 2 * second, PluginP99: 31 * second,
			Holding:     []pace.Holder{{UID: "u1", Namespace: "shop", Name: "web", Phase: pace.PhaseStarting, For: 40 * second}},
			Waiting:     []pace.Waiter{{Namespace: "shop", Name: "cart", Waited: 61 * second, Present: true}, {Namespace: "shop", Name: "till", Waited: 30 * second}},
			LockHolders: 1,
		},
		WaitsFor: map[string]string{"u1": "app: not created yet"},
		Recent: []Note{
			{At: time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC), Text: "the clock was set back by 1h0m0s"},
			{At: time.Date(2026, 3, 1, 3, 5, 0, 0, time.UTC), Text: "configuration /etc/evenkeel/config.yaml reloaded"},
		},
	}
	got := printed(t, statusReport{Install: installed(), Agent: &agent, Problems: []string{"pods may be out of date"}})
	want := `PLUGIN       /opt/cni/bin/bridge
INSTALLED    yes
IN PLACE     stand-in v1.2.3, 3500000 bytes, sha256 0123456789ab
ORIGINAL     not ours, 5000000 bytes, sha256 fedcba987654
AGENT        v1.2.3, up 1m30s, not ready: the stand-in has not reached this agent, the node's pods are not known yet (12 pods known from kubernetes)
LIMIT        1, by pressure (cpu 97 %, above 90, io 61 %, above 50) of PacePolicy windows; the rate allows the next start in 20s
PLUGIN RUNS  half of the last ones within 2s, 99 % within 31s
STARTING     2
             shop/web  starting  40s  app: not created yet
             1 under a lock file, from when no agent was there
WAITING      2
             1. shop/cart  present               waited 1m1s
             2. shop/till  between two attempts  waited 30s
RECENT       2026-03-01T03:00:00Z  the clock was set back by 1h0m0s
             2026-03-01T03:05:00Z  configuration /etc/evenkeel/config.yaml reloaded
PROBLEM      pods may be out of date
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStatusWithoutAnAgentSaysWhatStartsWithoutIt(t *testing.T) {
	r := statusReport{
		Install:    installed(),
		Unattended: &cni.Unattended{Running: 2, Limit: 2, Waiting: 7, First: time.Now().Add(-42 * time.Second)},
		Problems:   []string{noAgent(errors.New("connection refused")), noAgent(fmt.Errorf("read: %w", os.ErrDeadlineExceeded)), noAgent(context.DeadlineExceeded)},
	}
	_, got, _ := strings.Cut(printed(t, r), "AGENT")
	want := `          none
BY LOCK FILES  2 plugins run, limit 2; 7 pods queue for their turn, the first for 42s
PROBLEM        no agent answers: connection refused; pods wait for it for a while, then start by lock files
PROBLEM        the agent hangs: it has not answered for 10s; pods wait for it for a while, then start by lock files
PROBLEM        the agent hangs: it has not answered for 10s; pods wait for it for a while, then start by lock files
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStatusTellsWhatASlotWaitsFor(t *testing.T) {
	r := newRestart(t).settled("a")
	r.connect("a")
	for _, step := range []struct {
		want string
		seen func()
	}{
		{"no new sandbox is shown yet", func() {}},
		{"app: not created yet", func() { r.sees(pod("a", sandboxed(r.now))) }},
		{"another pod of its name is known", func() {
			p := pod("a")
			p.UID = "uid-other"
			r.sees(p)
		}},
	} {
		step.seen()
		if got := r.pods.waitsFor(r.now)["uid-a"]; got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
}
