package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// protection is something that keeps a pod where it is, said without the code that is tested.
type protection struct {
	name     string
	args     string // of DefaultEvictor, one a line; empty: it protects in any case
	protects func(s *cluster.Snapshot, p *cluster.Pod) bool
	ours     bool // not in the compatible mode
}

func protections() []protection {
	annotated := func(key string) func(*cluster.Snapshot, *cluster.Pod) bool {
		return func(_ *cluster.Snapshot, p *cluster.Pod) bool { return p.Annotations[key] != "" }
	}
	priority := func(p *cluster.Pod) int32 {
		if p.Spec.Priority == nil {
			return 0
		}
		return *p.Spec.Priority
	}
	extra := func(name string) string { return "podProtections: {extraEnabled: [" + name + "]}" }
	return []protection{
		{name: "mirror", protects: annotated("kubernetes.io/config.mirror")},
		{name: "static", protects: annotated("kubernetes.io/config.source")},
		{name: "deleting", protects: func(_ *cluster.Snapshot, p *cluster.Pod) bool { return p.Deleting }},
		{name: "critical", protects: func(_ *cluster.Snapshot, p *cluster.Pod) bool { return priority(p) >= 2_000_000_000 }},
		{name: "bare", protects: func(_ *cluster.Snapshot, p *cluster.Pod) bool { return len(p.Owners) == 0 }},
		{name: "local storage", protects: func(_ *cluster.Snapshot, p *cluster.Pod) bool { return p.Spec.LocalStorage }},
		{name: "daemon", protects: func(_ *cluster.Snapshot, p *cluster.Pod) bool { return p.OwnedBy("DaemonSet") }},
		{name: "opted out", ours: true, protects: func(_ *cluster.Snapshot, p *cluster.Pod) bool {
			return p.Annotations["descheduler.alpha.kubernetes.io/evict"] == "false"
		}},
		{name: "priority threshold", args: "priorityThreshold: {value: 10}", protects: func(_ *cluster.Snapshot, p *cluster.Pod) bool { return priority(p) >= 10 }},
		{name: "prefers to stay", args: "noEvictionPolicy: Mandatory", protects: annotated("descheduler.alpha.kubernetes.io/prefer-no-eviction")},
		{name: "claims", args: extra("PodsWithPVC"), protects: func(_ *cluster.Snapshot, p *cluster.Pod) bool { return len(p.Claims) > 0 }},
		{name: "resource claims", args: extra("PodsWithResourceClaims"), protects: func(_ *cluster.Snapshot, p *cluster.Pod) bool { return p.Spec.ResourceClaims }},
		{name: "no budget", args: extra("PodsWithoutPDB"), protects: func(s *cluster.Snapshot, p *cluster.Pod) bool { return len(budgetsOf(s, p)) == 0 }},
		{name: "labels", args: "labelSelector: {matchLabels: {app: w1}}", protects: func(_ *cluster.Snapshot, p *cluster.Pod) bool { return p.Labels["app"] != "w1" }},
		{name: "few replicas", args: "minReplicas: 3", protects: func(s *cluster.Snapshot, p *cluster.Pod) bool {
			same := 0
			for _, other := range s.Pods {
				if len(p.Owners) > 0 && len(other.Owners) > 0 && other.Owners[0].UID == p.Owners[0].UID {
					same++
				}
			}
			return same < 3
		}},
		{name: "young", args: "minPodAge: 30m", protects: func(s *cluster.Snapshot, p *cluster.Pod) bool { return s.TakenAt.Sub(p.Started) < 30*time.Minute }},
	}
}

func budgetsOf(s *cluster.Snapshot, p *cluster.Pod) []*cluster.Budget {
	var list []*cluster.Budget
	for _, b := range s.Budgets[p.Namespace] {
		if b.Selector.Matches(labels.Set(p.Labels)) {
			list = append(list, b)
		}
	}
	return list
}

// TestNothingProtectedMoves: whatever the strategies ask for (here: every pod), what the DefaultEvictor protects stays, budgets, limits and this process's own pod
// are left alone, and no pod moves twice. Every protection has to have been put to the test.
func TestNothingProtectedMoves(t *testing.T) {
	tried := map[string]int{}
	for seed := range uint64(2 * rounds) {
		rng := rand.New(rand.NewPCG(seed, 11))
		lines := withProtected(rng, testkit.RandomCluster(rng))
		s := testkit.Snapshot(t, lines)
		optional := protections()[8+rng.IntN(len(protections())-8)]
		p, self := protectingPolicy(t, rng, optional), s.Pods[rng.IntN(len(s.Pods))]
		for _, compat := range []bool{false, true} {
			out, err := engine.Plan(s, p, engine.Options{Compat: compat, Self: plan.PodRef{Namespace: self.Namespace, Name: self.Name}})
			if err != nil {
				t.Fatal(err)
			}
			for _, rule := range protections() {
				if rule.ours && compat || rule.args != "" && rule.name != optional.name {
					continue
				}
				for _, m := range out.Moves {
					pod := s.Pod(m.Pod.Namespace, m.Pod.Name)
					if _, asked := pod.Annotations["descheduler.alpha.kubernetes.io/evict"]; asked && compat {
						continue // to the peer, with any value, that overrules all protection
					}
					if rule.protects(s, pod) {
						t.Errorf("seed %d, compat %v: %s is protected (%s) and moves: %s\n%s", seed, compat, m.Pod, rule.name, m.Reason.Message, strings.Join(lines, "\n"))
					}
				}
				for _, r := range out.Refusals {
					if r.Gate == engine.GateEvictor && rule.protects(s, s.Pod(r.Pod.Namespace, r.Pod.Name)) {
						tried[rule.name]++
					}
				}
			}
			for _, m := range out.Moves {
				if m.Pod.Namespace == self.Namespace && m.Pod.Name == self.Name {
					t.Errorf("seed %d, compat %v: it moves itself", seed, compat)
				}
			}
			checkPlan(t, s, p, out)
			if !compat {
				tried["budget"] += checkBudgets(t, s, out)
			}
		}
	}
	for _, rule := range append(protections(), protection{name: "budget"}) {
		if tried[rule.name] == 0 {
			t.Errorf("no pod was ever held back as %q", rule.name)
		}
	}
}

// withProtected gives some pods something that may protect them.
func withProtected(rng *rand.Rand, lines []string) []string {
	for i, line := range lines {
		if strings.HasPrefix(line, "pod ") && rng.IntN(3) == 0 {
			lines[i] += pick(rng, " static", " ann=descheduler.alpha.kubernetes.io/evict=false", " ann=descheduler.alpha.kubernetes.io/prefer-no-eviction=x",
				" pvc=data", " claim", " started=5m", " emptydir", " prio=2000000000", " prio=10")
		}
	}
	return append(lines, "pod a/bare-1 node=n0", "pod a/bare-2 node=n1 phase=Failed age=300h", "pdb a/all select=team=x allowed=0",
		"pod a/two-1 node=n0 owner=ReplicaSet/two labels=app=w1,team=x", "pdb a/w1-too select=app=w1 allowed=1")
}

// protectingPolicy enables everything, wants every pod moved, and has one optional protection and random limits.
func protectingPolicy(t *testing.T, rng *rand.Rand, optional protection) *policy.Policy {
	t.Helper()
	text := "evictor\n  nodeFit: " + fmt.Sprint(rng.IntN(2) == 0) + "\n"
	if optional.args != "" {
		text += "  " + optional.args + "\n"
	}
	for _, name := range []string{"PodLifeTime\n  maxPodLifeTimeSeconds: 60\n", "RemoveDuplicates\n", "LowNodeUtilization\n  " + randomArgs("LowNodeUtilization") + "\n"} {
		text += name
	}
	return parse(t, text+randomLimits(rng))
}

// checkPlan checks what holds of every plan: limits, no move twice, reasons.
func checkPlan(t *testing.T, s *cluster.Snapshot, p *policy.Policy, out *plan.Plan) {
	t.Helper()
	perNode, perNamespace, seen := map[string]uint{}, map[string]uint{}, map[string]bool{}
	for _, m := range out.Moves {
		if seen[m.Pod.UID] {
			t.Errorf("%s moves twice", m.Pod)
		}
		if m.Reason.Code == "" || m.Reason.Message == "" {
			t.Errorf("%s moves without a reason", m.Pod)
		}
		if m.Node != s.Pod(m.Pod.Namespace, m.Pod.Name).NodeName {
			t.Errorf("%s moves from %s, where it is not", m.Pod, m.Node)
		}
		seen[m.Pod.UID] = true
		perNode[m.Node]++
		perNamespace[m.Pod.Namespace]++
	}
	checkLimit(t, "cycle", uint(len(out.Moves)), p.MaxNoOfPodsToEvictTotal)
	for node, n := range perNode {
		checkLimit(t, node, n, p.MaxNoOfPodsToEvictPerNode)
	}
	for ns, n := range perNamespace {
		checkLimit(t, ns, n, p.MaxNoOfPodsToEvictPerNamespace)
	}
	for _, r := range out.Refusals {
		if r.Gate == "" || r.Reason.Code == "" || r.Reason.Message == "" {
			t.Errorf("a refusal without a reason: %+v", r)
		}
	}
}

func checkLimit(t *testing.T, what string, have uint, limit *uint) {
	t.Helper()
	if limit != nil && have > *limit {
		t.Errorf("%s: %d moves, the limit is %d", what, have, *limit)
	}
}

// checkBudgets counts the healthy pods that move against what their budgets allow, and returns how many pods were held back for a budget.
func checkBudgets(t *testing.T, s *cluster.Snapshot, out *plan.Plan) (held int) {
	t.Helper()
	disrupted := map[*cluster.Budget]int32{}
	for _, m := range out.Moves {
		p := s.Pod(m.Pod.Namespace, m.Pod.Name)
		if !p.Ready || p.Phase != corev1.PodRunning {
			continue
		}
		budgets := budgetsOf(s, p)
		if len(budgets) > 1 {
			t.Errorf("%s has %d budgets and moves", m.Pod, len(budgets))
		}
		for _, b := range budgets {
			disrupted[b]++
		}
	}
	for b, n := range disrupted {
		if n > b.DisruptionsAllowed {
			t.Errorf("budget %s/%s allows %d disruptions, %d of its pods move", b.Namespace, b.Name, b.DisruptionsAllowed, n)
		}
	}
	for _, r := range out.Refusals {
		if r.Gate == engine.GateBudget {
			held++
		}
	}
	return held
}
