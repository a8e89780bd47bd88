package herd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// options of a small herd, with attempts so short that some pods are refused and come back.
func options(t testing.TB) Options {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Pods: 6, Work: 50 * time.Millisecond, PluginTime: 20 * time.Millisecond, Limit: "2", Attempt: 2 * time.Second,
		Retry: 300 * time.Millisecond, Heartbeat: 500 * time.Millisecond, Timeout: 2 * time.Minute, Dir: t.TempDir(), Program: program,
	}
}

// TestHerdEndToEnd runs real processes: the agent, stand-ins over the plugin, pods.
func TestHerdEndToEnd(t *testing.T) {
	o := options(t)
	r, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []Run{r.Unpaced, r.Paced} {
		if run.Ready != o.Pods || run.All == nil || *run.All < *run.First {
			t.Errorf("%s: %d of %d pods ready, %+v", run.Name, run.Ready, o.Pods, run)
		}
		if run.Adds != o.Pods+run.Refused {
			t.Errorf("%s: %d ADDs, %d of them refused, for %d pods", run.Name, run.Adds, run.Refused, o.Pods)
		}
		if run.Heartbeat.Count == 0 || run.Heartbeat.P50 <= 0 {
			t.Errorf("%s: no heartbeat: %+v", run.Name, run.Heartbeat)
		}
	}
	if r.Paced.Limit != 2 || r.Paced.MostStarting > 2 {
		t.Errorf("limit %d, and %d were starting at once", r.Paced.Limit, r.Paced.MostStarting)
	}
	if r.Unpaced.MostStarting < 3 || r.Unpaced.Refused != 0 {
		t.Errorf("the unpaced run was paced: %d starting at once, %d refused", r.Unpaced.MostStarting, r.Unpaced.Refused)
	}
	nothingLeft(t, o.Dir)
}

// TestPacingDoesNotMakeAHerdTakeManyTimesAsLong compares both runs of a herd that keeps the processors busy. The
// figures proper are a benchmark's: on a machine with other work two pods at a time get less of it than all at once.
func TestPacingDoesNotMakeAHerdTakeManyTimesAsLong(t *testing.T) {
	o := options(t)
	o.Pods, o.Work, o.Limit, o.Attempt = 6, 300*time.Millisecond, LimitAuto, 0
	r, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Unpaced.All == nil || r.Paced.All == nil {
		t.Fatalf("%d and %d of %d pods became ready", r.Unpaced.Ready, r.Paced.Ready, o.Pods)
	}
	t.Logf("all ready after %.1f s unpaced, %.1f s paced", *r.Unpaced.All, *r.Paced.All)
	if *r.Paced.All > 3**r.Unpaced.All+2 {
		t.Errorf("all pods were ready after %.1f s paced and %.1f s unpaced", *r.Paced.All, *r.Unpaced.All)
	}
}

// nothingLeft checks that no process of a herd runs, and that the plugin is back in its place and alone.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if list := processesIn(t, dir); len(list) > 0 {
		t.Errorf("processes are left: %q", list)
	}
	for _, run := range []string{Unpaced, Paced} {
		bin := filepath.Join(dir, run, "bin")
		entries, err := os.ReadDir(bin)
		if errors.Is(err, os.ErrNotExist) {
			continue // interrupted before it
		}
		if err != nil || len(entries) != 1 || entries[0].Name() != pluginName || marked(filepath.Join(bin, pluginName)) {
			t.Errorf("%s: the plugin is not alone in its folder: %v (%v)", run, entries, err)
		}
	}
}

func TestAnInterruptedHerdLeavesNothing(t *testing.T) {
	o := options(t)
	o.Work = time.Minute
	o.Timeout = 4 * time.Second // of the unpaced run
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p Progress) {
		if p.Run == Paced && p.Pods[Starting] > 0 && p.Pods[Waiting] > 0 {
			cancel()
		}
	}
	if _, err := Start(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want it cancelled in the paced run", err)
	}
	nothingLeft(t, o.Dir)
}

func TestOptionsNameEveryFlagThatIsWrong(t *testing.T) {
	o := Options{Pods: 0, Work: -1, Limit: "many", Attempt: time.Millisecond, Heartbeat: time.Hour, Timeout: time.Second, StartupProbe: 1}
	want := `--pods 0: want 1 to 500
--work -1ns: want 0s to 10m0s
--heartbeat 1h0m0s: want 50ms to 1m0s
--startup-probe 1ns: want 100ms to 1h0m0s
--limit "many": want auto, adaptive, or a number from 1 to 1000
--attempt 1ms: want 1s to 2m0s`
	if diff := cmp.Diff(want, o.Validate().Error()); diff != "" {
		t.Error(diff)
	}
	if err := options(t).Validate(); err != nil {
		t.Error(err)
	}
}

func TestOnlyACopyWithTheMarkAtItsEndIsAStandIn(t *testing.T) {
	dir := t.TempDir()
	program, plain, standIn := filepath.Join(dir, "program"), filepath.Join(dir, "plain"), filepath.Join(dir, "stand-in")
	if err := os.WriteFile(program, append(mark(), " inside does not count"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(copyProgram(program, plain, nil), copyProgram(program, standIn, mark())); err != nil {
		t.Fatal(err)
	}
	if marked(program) || marked(plain) || !marked(standIn) || marked(filepath.Join(dir, "none")) {
		t.Error("the wrong files are stand-ins")
	}
}
