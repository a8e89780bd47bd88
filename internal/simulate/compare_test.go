package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/simulate"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// compared carries out moves of pods "a/…" and writes the comparison in lines.
func compared(t *testing.T, cluster string, moves ...string) (*simulate.Comparison, string) {
	t.Helper()
	s := testkit.Snapshot(t, strings.Split(cluster, "\n"))
	var p plan.Plan
	for _, name := range moves {
		p.Moves = append(p.Moves, plan.Move{Pod: plan.PodRef{Namespace: "a", Name: name, UID: s.Pod("a", name).UID}})
	}
	c := simulate.Apply(s, &p, false).Compare()
	var b strings.Builder
	for _, n := range c.Nodes {
		fmt.Fprintf(&b, "%s: pods %d → %d, cpu %s → %s\n", n.Node.Name, n.Before.Pods, n.After.Pods, cpu(n.Node, n.Before), cpu(n.Node, n.After))
	}
	for _, w := range c.Workloads {
		fmt.Fprintf(&b, "%s, %d moved:", w.String(), w.Moved)
		for _, r := range w.Nodes {
			fmt.Fprintf(&b, " %s %d → %d", r.Node.Name, r.Before, r.After)
		}
		b.WriteString("\n")
	}
	return c, b.String()
}

func cpu(n *cluster.Node, l simulate.Load) string {
	share, ok := l.Share(n, cluster.CPU)
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// TestNodesAndWorkloadsAreCountedBeforeAndAfter: also those that stay on a node, and not what has ended or belongs to others.
func TestNodesAndWorkloadsAreCountedBeforeAndAfter(t *testing.T) {
	_, got := compared(t, `node n1 cpu=4
node n2 cpu=4
node n3 cordoned cpu=4
pod a/x-1 node=n1 owner=ReplicaSet/x cpu=1
pod a/x-2 node=n1 owner=ReplicaSet/x cpu=1
pod a/x-3 node=n3 owner=ReplicaSet/x cpu=2
pod a/old node=n3 owner=ReplicaSet/x cpu=4 phase=Failed
pod b/x-1 node=n2 owner=ReplicaSet/x
pod a/y-1 node=n2 owner=ReplicaSet/y cpu=1`, "x-1")
	want := `n1: pods 2 → 1, cpu 50 % → 25 %
n2: pods 2 → 3, cpu 25 % → 50 %
n3: pods 1 → 1, cpu 50 % → 50 %
ReplicaSet a/x, 1 moved: n1 2 → 1 n2 0 → 1 n3 1 → 1
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPodsWithoutAReplacementAreCountedByWhy: a pod that has ended needs none.
func TestPodsWithoutAReplacementAreCountedByWhy(t *testing.T) {
	c, got := compared(t, `node n1 cpu=1
node n2 cpu=1
pod a/big node=n1 owner=ReplicaSet/big cpu=8
pod a/bare node=n1
pod a/old node=n2 owner=Job/old phase=Failed
pod a/small node=n2 owner=ReplicaSet/small`, "big", "bare", "old", "small")
	if c.NoRoom != 1 || c.NoOwner != 1 || c.Ended != 1 {
		t.Errorf("no room %d, no owner %d, ended %d; expected one each", c.NoRoom, c.NoOwner, c.Ended)
	}
	for _, want := range []string{"Pod a/bare, 1 moved: n1 1 → 0\n", "ReplicaSet a/big, 1 moved: n1 1 → 0\n", "Job a/old, 1 moved:\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("expected %q in:\n%s", want, got)
		}
	}
}

// TestANodeWithoutAResourceHasNoShareOfIt: it is neither empty nor full.
func TestANodeWithoutAResourceHasNoShareOfIt(t *testing.T) {
	n := &cluster.Node{NodeInfo: &cluster.NodeInfo{Allocatable: cluster.Amounts{1000, 0, 4}}}
	l := simulate.Load{Pods: 5, Requests: cluster.Amounts{500, 10}}
	for id, want := range map[cluster.ResourceID]string{cluster.CPU: "0.5 true", cluster.Memory: "0 false", cluster.Pods: "1.25 true"} {
		share, ok := l.Share(n, id)
		if got := fmt.Sprint(share, ok); got != want {
			t.Errorf("resource %d: got %s, want %s", id, got, want)
		}
	}
}
