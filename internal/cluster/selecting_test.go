package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// TestSelectorsAreFoundByWhatTheySelect: those found are those whose namespaces and selector select the labels, in order.
func TestSelectorsAreFoundByWhatTheySelect(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 4))
		s := namespaced(t, 20)
		sets := cluster.NewNamespaceSets(s)
		var x cluster.Selecting[int]
		var selectors []labels.Selector
		var in []*cluster.NamespaceSet
		for i := range 60 {
			own, selector := fmt.Sprintf("n%d", rng.IntN(20)), randomSelector(t, rng, 4)
			if rng.IntN(2) == 0 {
				in = append(in, cluster.InNamespaces(own))
				x.Add(own, selector, i)
			} else {
				in = append(in, sets.Of(randomTerm(t, rng), own))
				x.AddIn(in[i], selector, i)
			}
			selectors = append(selectors, selector)
		}
		for range 40 {
			namespace, set := fmt.Sprintf("n%d", rng.IntN(22)), randomSet(rng, 4)
			var want []int
			for i := range selectors {
				if in[i].Has(namespace) && selectors[i].Matches(set) {
					want = append(want, i)
				}
			}
			if diff := cmp.Diff(want, x.Of(namespace, set)); diff != "" {
				t.Fatalf("seed %d: %s %s (-want +got):\n%s", seed, namespace, set, diff)
			}
		}
	}
}

// TestGroupsAreFoundByNamespaceAndLabels: those found are those that the namespaces and the selector select, by namespace.
func TestGroupsAreFoundByNamespaceAndLabels(t *testing.T) {
	s := namespaced(t, 20)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		in, selector := cluster.NewNamespaceSets(s).Of(randomTerm(t, rng), "n3"), randomSelector(t, rng, 4)
		var want, got []string
		for _, p := range s.Pods {
			if in.Has(p.Namespace) && selector.Matches(labels.Set(p.Labels)) {
				want = append(want, p.Key())
			}
		}
		for _, g := range s.Groups().Selected(in, selector) {
			for _, p := range g.Pods {
				got = append(got, p.Key())
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %v %s (-want +got):\n%s", seed, in.Names(), selector, diff)
		}
	}
}

// TestNamespacesOfTerms: an empty selector is every namespace, known or not; others see of a namespace that only its pods tell of its name alone.
func TestNamespacesOfTerms(t *testing.T) {
	sets := cluster.NewNamespaceSets(namespaced(t, 20))
	selector := func(text string) labels.Selector {
		s, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		term      cluster.Term
		has, lack []string
	}{
		{cluster.Term{}, []string{"n3"}, []string{"n1", "elsewhere"}},
		{cluster.Term{Namespaces: []string{"n1", "n2"}}, []string{"n1", "n2"}, []string{"n3"}},
		{cluster.Term{NamespaceSelector: labels.Everything()}, []string{"n1", "n3", "n19", "elsewhere"}, nil},
		{cluster.Term{NamespaceSelector: selector("half=0")}, []string{"n0", "n2"}, []string{"n1", "n3", "n18"}},
		{cluster.Term{NamespaceSelector: selector("half=0"), Namespaces: []string{"n1"}}, []string{"n0", "n1"}, []string{"n3"}},
		{cluster.Term{NamespaceSelector: selector("kubernetes.io/metadata.name=n18")}, []string{"n18"}, []string{"n3"}},
		{cluster.Term{NamespaceSelector: labels.Nothing()}, nil, []string{"n3", "n1"}},
	} {
		set := sets.Of(&c.term, "n3")
		for _, name := range c.has {
			if !set.Has(name) {
				t.Errorf("%+v: %s is not among %v", c.term, name, set.Names())
			}
		}
		for _, name := range c.lack {
			if set.Has(name) {
				t.Errorf("%+v: %s is among %v", c.term, name, set.Names())
			}
		}
	}
}

// namespaced has a pod of each of ten sets of labels in so many namespaces; there are Namespace objects of half of them.
func namespaced(t *testing.T, many int) *cluster.Snapshot {
	t.Helper()
	conv := cluster.NewConverter()
	parts := &cluster.Parts{Resources: conv.Resources, Nodes: []*cluster.NodeInfo{conv.Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})}}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range many {
		name := fmt.Sprintf("n%d", i)
		if i < many/2 {
			parts.Namespaces = append(parts.Namespaces, conv.Namespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{corev1.LabelMetadataName: name, "half": fmt.Sprint(i % 2)},
			}}))
		}
		for j := range 10 {
			parts.Pods = append(parts.Pods, conv.Pod(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", j), Namespace: name, Labels: randomSet(rng, 4)},
				Spec:       corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
			}))
		}
	}
	s, err := parts.Snapshot(metav1.Now().Time)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// randomTerm is of any form.
func randomTerm(t *testing.T, rng *rand.Rand) *cluster.Term {
	t.Helper()
	term := &cluster.Term{}
	for range rng.IntN(14) {
		term.Namespaces = append(term.Namespaces, fmt.Sprintf("n%d", rng.IntN(20)))
	}
	switch rng.IntN(4) {
	case 0:
		term.NamespaceSelector = labels.Everything()
	case 1:
		term.NamespaceSelector = labels.SelectorFromSet(labels.Set{"half": fmt.Sprint(rng.IntN(3))})
	}
	return term
}
