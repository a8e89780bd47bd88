// Package gen makes large, realistic clusters for benchmarks and property tests.
//
// The shape is the one that the figures of the peer were measured on: three zones; half the nodes with the label disk=ssd; 5 % tainted; 20 %
// nearly empty and 20 % hot; Deployments of 1 to 50 replicas in 50 namespaces; 20 % of them with a constraint to spread over zones (half of
// those skewed), 5 % with anti-affinity by host name (10 % of the pods in violation), 5 % with node affinity (5 % in violation), half
// tolerating the taint; 10 % of the pods 8 days old, the others up to 6 days. The same Config always gives the same objects.
package gen

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// Config is a cluster to be made. The zero value of every field but Nodes and Pods stands for the usual shape.
type Config struct {
	Nodes      int
	Pods       int
	Seed       uint64
	Namespaces int // 50 when zero
	// Spread and AntiAffinity are the share of Deployments with a spread constraint and with anti-affinity, in percent: 20 and 5 when zero, none when negative.
	Spread       int
	AntiAffinity int
	// HostSpread adds to every spread constraint over zones one over host names, and skews all of them.
	HostSpread bool
	// Budgets is the share of Deployments with a PodDisruptionBudget that allows one disruption, in percent.
	Budgets int
}

// WorstCase is a cluster that is hard on strategies: 1,000 namespaces, and two spread constraints on a fifth of the Deployments.
func WorstCase(nodes, pods int, seed uint64) Config {
	return Config{Nodes: nodes, Pods: pods, Seed: seed, Namespaces: 1000, HostSpread: true}
}

// Now is the time at which the cluster is: all its times lie before it.
func Now() time.Time { return time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC) }

// Objects yields the namespaces, nodes and pods (each Deployment's budget before its pods), with their types set.
func (c Config) Objects() iter.Seq[runtime.Object] {
	return func(yield func(runtime.Object) bool) {
		g := generator{Config: c.withDefaults(), rng: rand.New(rand.NewPCG(c.Seed, 0x6b65656c)), yield: yield}
		_ = g.namespaces() && g.nodes() && g.deployments()
	}
}

func (c Config) withDefaults() Config {
	c.Namespaces = defaulted(c.Namespaces, 50)
	c.Spread = defaulted(c.Spread, 20)
	c.AntiAffinity = defaulted(c.AntiAffinity, 5)
	return c
}

func defaulted(v, usual int) int {
	if v == 0 {
		return usual
	}
	return max(v, 0)
}

// WriteJSON writes the objects as one v1 List, one object a line.
func (c Config) WriteJSON(w io.Writer) error {
	if _, err := io.WriteString(w, `{"apiVersion":"v1","kind":"List","items":[`); err != nil {
		return err
	}
	sep := "\n"
	for o := range c.Objects() {
		data, err := json.Marshal(o)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%s", sep, data); err != nil {
			return err
		}
		sep = ",\n"
	}
	_, err := io.WriteString(w, "\n]}\n")
	return err
}

// Parts converts the objects.
func (c Config) Parts(conv *cluster.Converter) *cluster.Parts {
	p := &cluster.Parts{Resources: conv.Resources, Has: cluster.Has{Namespaces: true, Budgets: c.Budgets > 0}}
	for o := range c.Objects() {
		switch o := o.(type) {
		case *corev1.Namespace:
			p.Namespaces = append(p.Namespaces, conv.Namespace(o))
		case *corev1.Node:
			p.Nodes = append(p.Nodes, conv.Node(o))
		case *corev1.Pod:
			p.Pods = append(p.Pods, conv.Pod(o))
		case *policyv1.PodDisruptionBudget:
			p.Budgets = append(p.Budgets, conv.Budget(o))
		}
	}
	return p
}

// Snapshot makes the cluster as it is at [Now].
func (c Config) Snapshot() (*cluster.Snapshot, error) {
	return c.Parts(cluster.NewConverter()).Snapshot(Now())
}
