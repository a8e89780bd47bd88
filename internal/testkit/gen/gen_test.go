package gen

import (
	"bytes"
	"math"
	"testing"

	"evenkeel.dev/evenkeel/internal/cluster"
)

func TestTheSameConfigGivesTheSameBytes(t *testing.T) {
	var a, b bytes.Buffer
	config := Config{Nodes: 20, Pods: 500, Seed: 7, Budgets: 10}
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := config.WriteJSON(w); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two runs differ")
	}
}

func TestTheClusterHasTheStatedShape(t *testing.T) {
	s, err := Config{Nodes: 200, Pods: 20000, Seed: 42, Budgets: 30}.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Nodes) != 200 || len(s.Pods) != 20000 || len(s.Namespaces) != 50 {
		t.Fatalf("%d nodes, %d pods, %d namespaces", len(s.Nodes), len(s.Pods), len(s.Namespaces))
	}
	var spread, anti, affinity, old, tolerating, tainted float64
	for _, n := range s.Nodes {
		if len(n.Taints) > 0 {
			tainted++
		}
	}
	for _, p := range s.Pods {
		count := func(n *float64, yes bool) {
			if yes {
				*n++
			}
		}
		count(&spread, len(p.Spec.TopologySpread) > 0)
		count(&anti, len(p.Spec.AntiAffinity) > 0)
		count(&affinity, p.Spec.Placement.Required != nil)
		count(&tolerating, len(p.Spec.Placement.Tolerations) > 0)
		count(&old, p.Age(Now()).Hours() == 192)
	}
	for _, share := range []struct {
		name      string
		got, want float64
	}{
		{"tainted nodes", tainted / 200, 0.05},
		{"pods that spread", spread / 20000, 0.2},
		{"pods with anti-affinity", anti / 20000, 0.05},
		{"pods with node affinity", affinity / 20000, 0.05},
		{"tolerating pods", tolerating / 20000, 0.5},
		{"pods 8 days old", old / 20000, 0.1},
	} {
		if math.Abs(share.got-share.want) > 0.03 {
			t.Errorf("%s: %.3f, want about %.2f", share.name, share.got, share.want)
		}
	}
	if n := len(s.Budgets); n == 0 {
		t.Error("no budgets")
	}
}

func TestWorstCaseHasManyNamespacesAndTwoConstraints(t *testing.T) {
	p := WorstCase(30, 900, 1).Parts(cluster.NewConverter())
	if len(p.Namespaces) != 1000 {
		t.Errorf("%d namespaces", len(p.Namespaces))
	}
	constraints := 0
	for _, pod := range p.Pods {
		constraints = max(constraints, len(pod.Spec.TopologySpread))
	}
	if constraints != 2 {
		t.Errorf("at most %d constraints on a pod", constraints)
	}
}
