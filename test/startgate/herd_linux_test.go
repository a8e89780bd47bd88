package startgate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/test/harness"
)

func TestTwentyPodsStartThreeAtATimeAndDeletionsDoNotWait(t *testing.T) {
	t.Parallel()
	g := newGate(t, "twenty", strings.Replace(config(3, "60s"), "attempt:", "maxWait: 10s, attempt:", 1))
	defer g.dump()
	namespace := g.cluster.Namespace(t)
	w := g.watch(namespace)
	g.node.RunPods(t, namespace, "web", 20, harness.Work{Delay: time.Second}, nil)
	first := g.awaitSome(namespace, 1)[0]
	began := time.Now()
	g.cluster.Kubectl(t, "delete", "pod", first.Name, "-n", namespace, "--wait=true")
	took := time.Since(began)
	pods := append(g.cluster.AwaitReady(t, namespace, "app=web", 19), first)
	w.stop()
	w.wantAtMost(t, 3)
	starts := g.starts(pods)
	wantLimit(t, starts, 3)
	wantEach(t, pods, starts)
	g.wantEvent(namespace, "HeldLong")

	t.Logf("a pod was deleted in %s beside those that wait", took.Round(time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("a deletion took %s", took)
	}
	last := starts[len(starts)-1].Begin
	for _, del := range g.runs("DEL") {
		if del.Pod == string(first.UID) && del.End.Before(last) {
			return
		}
	}
	t.Errorf("the plugin's DEL did not run before the last pod's turn: %+v", g.runs("DEL"))
}

// herd is thirty pods of five seconds at a limit of two: with attempts of ten
// seconds most of them are told to try again several times.
type herd struct {
	*gate
	namespace string
	watched   *witness
}

const herdSize = 30

func newHerd(t *testing.T, node string) *herd {
	h := &herd{gate: newGate(t, node, config(2, "10s"))}
	h.namespace = h.cluster.Namespace(t)
	h.watched = h.watch(h.namespace)
	h.node.RunPods(t, h.namespace, "web", herdSize, harness.Work{Delay: 5 * time.Second}, nil)
	return h
}

// end waits until all pods are ready and gives their starts.
func (h *herd) end() []run {
	h.t.Helper()
	pods := h.awaitSome(h.namespace, herdSize)
	h.watched.stop()
	starts := h.starts(pods)
	wantEach(h.t, pods, starts)
	return starts
}

func TestAHerdThatLastsManyDeadlinesLosesNobody(t *testing.T) {
	t.Parallel()
	h := newHerd(t, "deadlines")
	defer h.dump()
	starts := h.end()
	h.watched.wantAtMost(t, 2)
	wantLimit(t, starts, 2)
	if d := starts[len(starts)-1].Begin.Sub(starts[0].Begin); d < 60*time.Second {
		t.Errorf("the herd lasted %s only: that is not many attempts of 10 s", d)
	}
}

func TestAHerdKeepsItsPaceWhenTheAgentIsKilledMidway(t *testing.T) {
	t.Parallel()
	h := newHerd(t, "killed")
	defer h.dump()
	h.awaitSome(h.namespace, 6)
	h.agent.Kill(t)
	time.Sleep(2 * time.Second)
	h.start()
	starts := h.end()
	h.ready()
	h.watched.wantAtMost(t, 2)
	wantLimit(t, starts, 2)
}

func TestAHerdFollowsALimitThatChangesMidway(t *testing.T) {
	t.Parallel()
	h := newHerd(t, "limit")
	defer h.dump()
	h.awaitSome(h.namespace, 4)
	raised := time.Now()
	h.limit(4)
	h.awaitSome(h.namespace, 16)
	h.limit(2)
	lowered := time.Now()
	starts := h.end()
	h.watched.wantAtMost(t, 4)
	for _, period := range []struct {
		limit    int
		from, to time.Time
	}{{2, time.Time{}, raised}, {4, raised, lowered}, {2, lowered, time.Now()}} {
		if n := most(starts, period.from, period.to); n != period.limit {
			t.Errorf("%d pods were starting at once while the limit was %d", n, period.limit)
		}
	}
}

// limit changes the limit and waits until it holds.
func (h *herd) limit(n int) {
	h.t.Helper()
	h.configure(config(n, "10s"))
	h.awaitStatus(30*time.Second, "the new limit holds", func(s status) bool { return s.Agent.Queue.Limit == n })
}

// Between the overwriting and the return of the stand-in the new plugin is
// called without us: those pods start beside the limit, nobody else does.
func TestAHerdSurvivesAPluginOverwrittenMidwayAndUninstallGivesThatBack(t *testing.T) {
	t.Parallel()
	h := newHerd(t, "overwritten")
	defer h.dump()
	h.awaitSome(h.namespace, 6)
	overwritten := time.Now()
	for _, version := range []string{"downloaded", "unpacked", "patched", "a newer version"} {
		h.writePlugin(version)
		time.Sleep(700 * time.Millisecond) // the file is never left alone for a second before the last
	}
	h.awaitOriginal("a newer version")
	window := time.Since(overwritten)
	adopted := time.Now()
	starts := h.end()
	h.ready()

	if window > 15*time.Second {
		t.Errorf("the stand-in was back after %s", window)
	}
	besides := slices.DeleteFunc(slices.Clone(starts), func(r run) bool { return r.Paced })
	t.Logf("the stand-in was back after %s; meanwhile %d pods started without it", window.Round(time.Millisecond), len(besides))
	for _, r := range besides {
		if r.Begin.Before(overwritten) || r.Begin.After(adopted) {
			t.Errorf("the plugin was called without the stand-in at %s, not between %s and %s", r.Begin, overwritten, adopted)
		}
	}
	wantLimit(t, paced(starts), 2)
	h.watched.wantAtMost(t, 2+len(besides))

	h.uninstall()
	h.node.RunPods(t, h.namespace, "after", 1, harness.Work{}, nil)
	after := h.starts(h.cluster.AwaitReady(t, h.namespace, "app=after", 1))
	if len(after) != 1 || after[0].Paced {
		t.Errorf("after uninstalling the plugin ran %+v", after)
	}
}

// uninstall wants the newest plugin back in its place and nothing of ours left.
func (h *herd) uninstall() {
	h.t.Helper()
	out, err := h.node.Command(h.program, "uninstall", "--bin-dir", h.node.PluginDir, "--plugin", "bridge").CombinedOutput()
	if err != nil {
		h.t.Fatalf("uninstall: %v\n%s", err, out)
	}
	plugin, err := os.ReadFile(filepath.Join(h.node.PluginDir, "bridge"))
	h.must(err)
	if !strings.HasSuffix(string(plugin), "a newer version") {
		h.t.Errorf("uninstall left a plugin of %d bytes, not the newer version", len(plugin))
	}
	if _, err := os.Stat(filepath.Join(h.node.PluginDir, "evenkeel")); !errors.Is(err, os.ErrNotExist) {
		h.t.Errorf("our folder is still there (%v)", err)
	}
}
