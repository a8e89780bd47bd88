package fit_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// TestRememberedAnswersAreRight: what a checker and a scheduler remember from earlier questions never changes an answer, whatever
// was moved in between. A fresh one, asked about every node, is the judge.
func TestRememberedAnswersAreRight(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			nodes := 2 + rng.IntN(5)
			if seed%10 == 0 {
				nodes *= 30 // so that not each is looked at
			}
			view := cluster.NewView(randomSnapshot(t, rng, nodes))
			checker, scheduler := fit.NewChecker(view, view.Nodes), fit.NewScheduler(view, view.Nodes)
			limited := fit.NewScheduler(view, view.Nodes)
			limited.Limit(fit.NewEffort(0))
			for range 60 {
				p := view.Pods[rng.IntN(len(view.Pods))]
				judgeChecker(t, view, checker, p)
				judgeScheduler(t, view, scheduler, p)
				judgeLimited(t, view, limited, scheduler, p)
				if view.Gone(p) || rng.IntN(2) == 0 {
					continue
				}
				view.Remove(p)
				scheduler.Left(p)
				limited.Left(p)
				if n := view.Nodes[rng.IntN(len(view.Nodes))]; rng.IntN(2) == 0 {
					view.Expect(p, n)
					scheduler.Arrived(p, n)
					limited.Arrived(p, n)
				}
			}
		})
	}
}

func judgeChecker(t *testing.T, view *cluster.View, checker *fit.Checker, p *cluster.Pod) {
	t.Helper()
	fresh := fit.NewChecker(view, view.Nodes)
	somewhere := false
	for _, n := range view.Nodes {
		_, ok := fresh.Why(p, n)
		if ok != checker.Fits(p, n) {
			t.Fatalf("%s on %s: Why says %v, Fits says %v", p.Key(), n.Name, ok, !ok)
		}
		somewhere = somewhere || ok && n != p.Node
	}
	n := checker.AnyOther(p)
	if (n != nil) != somewhere {
		t.Fatalf("%s fits somewhere else: got %v, want %v", p.Key(), n != nil, somewhere)
	}
	if n != nil && (n == p.Node || !fresh.Fits(p, n)) {
		t.Fatalf("%s: %s is no answer", p.Key(), n.Name)
	}
	if n == nil {
		judgeReason(t, view, p, checker.WhyNowhere(p), fresh.Why)
	}
}

// judgeReason counts what keeps the pod off each node.
func judgeReason(t *testing.T, view *cluster.View, p *cluster.Pod, got plan.Reason, why func(*cluster.Pod, *cluster.Node) (plan.Reason, bool)) {
	t.Helper()
	want := plan.Numbers{}
	for _, n := range view.Nodes {
		if reason, ok := why(p, n); !ok && n != p.Node {
			want[reason.Code]++
		}
	}
	if diff := cmp.Diff(want, got.Numbers); diff != "" {
		t.Fatalf("%s: the reason counts wrongly (-want +got):\n%s", p.Key(), diff)
	}
}

func judgeScheduler(t *testing.T, view *cluster.View, scheduler *fit.Scheduler, p *cluster.Pod) {
	t.Helper()
	fresh := fit.NewScheduler(view, view.Nodes)
	somewhere := false
	for _, n := range view.Nodes {
		want := fresh.Accepts(p, n)
		if got := scheduler.Accepts(p, n); got != want {
			why, _ := fresh.Explain(p, n)
			t.Fatalf("%s on %s: accepted %v, a fresh look says %v (%s)", p.Key(), n.Name, got, want, why.Message)
		}
		if _, ok := scheduler.Explain(p, n); ok != want && !view.Gone(p) {
			t.Fatalf("%s on %s: Explain says %v, Accepts %v", p.Key(), n.Name, ok, want)
		}
		somewhere = somewhere || want && n != p.Node
	}
	if n := scheduler.AnyBut(p); (n != nil) != somewhere || n != nil && !fresh.Accepts(p, n) {
		t.Fatalf("%s is accepted somewhere else: got %v, want %v", p.Key(), n, somewhere)
	}
	if !somewhere && !view.Gone(p) {
		judgeReason(t, view, p, scheduler.NowhereBut(p), fresh.Explain)
	}
}

// judgeLimited: a search that may end early finds nothing else, and says when it did end early.
func judgeLimited(t *testing.T, view *cluster.View, limited, judge *fit.Scheduler, p *cluster.Pod) {
	t.Helper()
	n := limited.AnyBut(p)
	if n != nil && (n == p.Node || !judge.Accepts(p, n)) {
		t.Fatalf("%s: %s is no answer", p.Key(), n.Name)
	}
	if n != nil || view.Gone(p) {
		return
	}
	ended := limited.NowhereBut(p).Code == fit.CodeSearchEnded
	if possible := judge.AnyBut(p) != nil; possible && !ended {
		t.Fatalf("%s can go somewhere, and the search that did not find that did not end early", p.Key())
	}
	if ended && len(view.Nodes) <= fit.LookAhead {
		t.Fatalf("%s: the search among %d nodes ended early", p.Key(), len(view.Nodes))
	}
}

func randomSnapshot(t *testing.T, rng *rand.Rand, nodes int) *cluster.Snapshot {
	t.Helper()
	pick := func(choices ...string) string { return choices[rng.IntN(len(choices))] }
	b := testkit.NewBuilder()
	line := func(format string, args ...any) {
		if err := b.Lines(fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	line("namespace a labels=team=x")
	line("namespace b labels=team=y")
	for i := range nodes {
		line("node n%d cpu=%d labels=zone=z%d,disk=%s%s", i, 1+rng.IntN(4), i%2, pick("ssd", "hdd"), pick("", "", "", " taint=t=x:NoSchedule", " taint=soft=x:PreferNoSchedule", " cordoned"))
	}
	for i := range nodes {
		if i >= 10 && rng.IntN(40) > 0 {
			line("pod a/full-%d node=n%d cpu=%dm", i, i, 900+100*rng.IntN(30))
		}
	}
	for w := range 1 + rng.IntN(5) {
		words := fmt.Sprintf("owner=ReplicaSet/w%d labels=app=w%d cpu=%d00m", w, w, 1+rng.IntN(9)) +
			pick("", "", " tolerate=t") + pick("", "", " need=disk=ssd") + pick("", "", "", " hostport=80") + pick("", "", "", " pvc=lost") + pick("", "", "", " prefer=5:disk=ssd") +
			pick("", "", " anti=kubernetes.io/hostname:app=w0", " anti=zone:app=w1", " anti=kubernetes.io/hostname:app=w1:a+b", " near=zone:app=w0", " near=zone:app=w1") +
			pick("", "", " spread=zone:1:app=w0", " spread=kubernetes.io/hostname:2:app=w1", " spread=zone:1:app=w1:minDomains=3", " spread=zone:1:app=w0:nodeTaintsPolicy=Honor")
		for r := range 1 + rng.IntN(5) {
			for _, ns := range strings.Split(pick("a", "b", "a b"), " ") {
				line("pod %s/w%d-%d node=n%d %s%s", ns, w, r, rng.IntN(nodes), words,
					pick("", "", "", "", " phase=Succeeded", " deleting")+pick("", "", fmt.Sprintf(" labels=app=w%d,pod=p%d", w, r)))
			}
		}
	}
	s, err := b.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
