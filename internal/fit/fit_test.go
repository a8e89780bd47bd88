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
			switch {
			case seed%50 == 0:
				nodes *= 100 // so that searches end early
			case seed%10 == 0:
				nodes *= 30 // so that not each is looked at
			}
			view := cluster.NewView(randomSnapshot(t, rng, nodes))
			checker, scheduler := fit.NewChecker(view, view.Nodes), fit.NewScheduler(view, view.Nodes)
			limited, booking, hasty := fit.NewScheduler(view, view.Nodes), fit.NewScheduler(view, view.Nodes), fit.NewScheduler(view, view.Nodes)
			limited.Limit(fit.NewEffort(0))
			usedUp := fit.NewEffort(0)
			usedUp.Spend(1_000_000)
			hasty.Limit(usedUp)
			all := []*fit.Scheduler{scheduler, limited, booking, hasty}
			for range 60 {
				p := view.Pods[rng.IntN(len(view.Pods))]
				for i := 0; i < 20 && strings.HasPrefix(p.Name, "full"); i++ {
					p = view.Pods[rng.IntN(len(view.Pods))]
				}
				judgeChecker(t, view, checker, p)
				judgeScheduler(t, view, scheduler, p)
				judgeLimited(t, view, limited, scheduler, p)
				judgeToBook(t, booking, hasty, scheduler, p)
				judgeLimitedChecker(t, hasty.Checker, checker, p)
				if view.Gone(p) || rng.IntN(2) == 0 {
					continue
				}
				view.Remove(p)
				for _, s := range all {
					s.Left(p)
				}
				if n := view.Nodes[rng.IntN(len(view.Nodes))]; rng.IntN(2) == 0 {
					view.Expect(p, n)
					for _, s := range all {
						s.Arrived(p, n)
					}
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

// TestNoRoomIsRememberedOnlyUntilThereIsSome: pods that there was no room for, as each node lacks another resource, are found a node as soon as one has room.
func TestNoRoomIsRememberedOnlyUntilThereIsSome(t *testing.T) {
	const nodes, pods = 400, 1500
	b, rng := testkit.NewBuilder(), rand.New(rand.NewPCG(1, 1))
	line := func(format string, args ...any) {
		if err := b.Lines(fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		cpu := rng.IntN(1000)
		line("node n%d cpu=%dm mem=%d res/disk=%d res/gpu=%d", i, 500+cpu, 1500-cpu, 500+rng.IntN(1000), 500+rng.IntN(1000))
		line("pod a/filler-%d node=n%d cpu=%dm mem=%d res/disk=%d", i, i, rng.IntN(300), rng.IntN(300), rng.IntN(300))
	}
	line("node home taint=a=b:NoSchedule cpu=2000 mem=2Gi pods=2000")
	for i := range pods {
		line("pod a/p%d node=home cpu=%dm mem=%d res/disk=%d res/gpu=%d", i, 500+i*2/3, 1450-i*2/3, i%2*1000, i%3*500)
	}
	line("node big cpu=4 mem=4000 res/disk=4000 res/gpu=4000")
	for _, name := range []string{"big", "n0"} {
		line("pod a/of-two-on-%s node=%s cpu=950m mem=1001 res/disk=1000 res/gpu=500", name, name)
	}
	s, err := b.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	view := cluster.NewView(s)
	checker := fit.NewChecker(view, view.Nodes)
	judgeChecker(t, view, checker, view.Pod("a", "of-two-on-big"))
	judgeChecker(t, view, checker, view.Pod("a", "of-two-on-n0")) // the same pod, and yet big will do
	view.Remove(view.Pod("a", "of-two-on-big"))
	for range 4 {
		view.Expect(view.Pod("a", "of-two-on-big"), view.Node("big"))
	}
	found := 0
	for range 4000 {
		if p := view.Pod("a", fmt.Sprintf("p%d", rng.IntN(pods))); checker.AnyOther(p) != nil {
			found++
		}
		p := view.Pod("a", fmt.Sprintf("p%d", rng.IntN(pods)))
		judgeChecker(t, view, checker, p)
		if rng.IntN(4) == 0 {
			filler := view.Pod("a", fmt.Sprintf("filler-%d", rng.IntN(nodes)))
			view.Remove(view.Pods[filler.Index])
		}
	}
	if found == 0 || found == 4000 {
		t.Errorf("of 4000 pods %d found a node: that is no test", found)
	}
}

// judgeToBook: a search for a place to book finds one if there is one, or says that it did not look everywhere, which it does only when the effort is used up.
func judgeToBook(t *testing.T, booking, hasty, judge *fit.Scheduler, p *cluster.Pod) {
	t.Helper()
	possible := judge.AnyBut(p) != nil
	for _, s := range []*fit.Scheduler{booking, hasty} {
		n, all := s.ToBook(p)
		if n != nil && (n == p.Node || !judge.Accepts(p, n)) {
			t.Fatalf("%s: %s is no place to book", p.Key(), n.Name)
		}
		if n == nil && all && possible || s == booking && (!all || possible && n == nil) {
			t.Fatalf("%s: to book %v, looked everywhere %v; there is a place: %v", p.Key(), n, all, possible)
		}
	}
}

// judgeLimitedChecker: node fit that may end early finds nothing else, and says when it did end early.
func judgeLimitedChecker(t *testing.T, limited, judge *fit.Checker, p *cluster.Pod) {
	t.Helper()
	n := limited.AnyOther(p)
	if n != nil && (n == p.Node || !judge.Fits(p, n)) {
		t.Fatalf("%s: %s is no answer", p.Key(), n.Name)
	}
	if n == nil && judge.AnyOther(p) != nil && limited.WhyNowhere(p).Code != fit.CodeSearchEnded {
		t.Fatalf("%s fits somewhere, and the search that did not find that did not end early", p.Key())
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
		line("node n%d cpu=%d mem=%dGi res/disk=%d labels=zone=z%d,disk=%s%s", i, 1+rng.IntN(4), 1+rng.IntN(8), rng.IntN(9), i%2, pick("ssd", "hdd"), pick("", "", "", " taint=t=x:NoSchedule", " taint=soft=x:PreferNoSchedule", " cordoned"))
	}
	for i := range nodes {
		if i >= 10 && rng.IntN(40) > nodes/100 {
			if nodes < 100 {
				line("pod a/full-%d node=n%d cpu=%dm", i, i, 900+100*rng.IntN(30))
			} else {
				line("pod a/full-%d node=n%d cpu=100m hostport=80", i, i)
			}
		}
	}
	for w := range 1 + rng.IntN(5) {
		port := pick("", "", "", " hostport=80")
		if nodes >= 100 {
			port = " hostport=80"
		}
		words := fmt.Sprintf("owner=ReplicaSet/w%d labels=app=w%d cpu=%d00m", w, w, 1+rng.IntN(9)) + pick("", " mem=1Gi", fmt.Sprintf(" mem=%dGi res/disk=%d", 1+rng.IntN(3), rng.IntN(5))) +
			pick("", "", " tolerate=t") + pick("", "", " need=disk=ssd") + port + pick("", "", "", " pvc=lost") + pick("", "", "", " prefer=5:disk=ssd") +
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
