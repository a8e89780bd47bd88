package strategy_test

import (
	"fmt"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// hardCluster is one that a careless strategy would be slow on.
type hardCluster struct {
	name, policy string
	lines        func(w *strings.Builder)
}

func hardClusters() []hardCluster {
	spread := "RemovePodsViolatingTopologySpreadConstraint\n  constraints: [DoNotSchedule, ScheduleAnyway]\n"
	return []hardCluster{
		{"one workload of 20000 pods, spread over zones and hosts", spread, func(w *strings.Builder) {
			nodes(w, 2000)
			for i := range 20_000 {
				at := i % 2000
				if i%3 == 0 {
					at = i % 500
				}
				fmt.Fprintf(w, "pod ns/p%d node=n%d owner=ReplicaSet/w labels=app=w cpu=10m spread=zone:1:app=w spread=kubernetes.io/hostname:1:app=w:ScheduleAnyway\n", i, at)
			}
		}},
		{"20000 pods with labels of their own, spread over hosts", spread, func(w *strings.Builder) {
			nodes(w, 2000)
			for i := range 20_000 {
				fmt.Fprintf(w, "pod ns/p%d node=n%d owner=StatefulSet/w%d labels=app=w%d,pod=p%d cpu=10m spread=kubernetes.io/hostname:1:app=w%d\n",
					i, i/20*2, i/10, i/10, i, i/10)
			}
		}},
		{"5000 pods that all refuse to share a zone", "RemovePodsViolatingInterPodAntiAffinity\n", func(w *strings.Builder) {
			nodes(w, 500)
			for i := range 5000 {
				fmt.Fprintf(w, "pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w,pod=p%d cpu=10m anti=zone:app=w\n", i, i%500, i, i)
			}
		}},
		{"20000 pods of 2000 workloads, ten to a node that they refuse to share", "RemovePodsViolatingInterPodAntiAffinity\n", func(w *strings.Builder) {
			nodes(w, 2000)
			for i := range 20_000 {
				fmt.Fprintf(w, "pod ns/p%d node=n%d owner=ReplicaSet/w%d labels=app=w%d cpu=10m anti=kubernetes.io/hostname:app=w%d\n", i, i/10, i/10, i/10, i/10)
			}
		}},
		{"60000 measured pods", "LowNodeUtilization\n  thresholds: {cpu: 30}\n  targetThresholds: {cpu: 50}\n  metricsUtilization: {source: KubernetesMetrics}\n", func(w *strings.Builder) {
			nodes(w, 2000)
			for i := range 2000 {
				fmt.Fprintf(w, "nodemetrics n%d cpu=%dm mem=1Gi\n", i, 4000*(i%10)/10)
			}
			for i := range 60_000 {
				fmt.Fprintf(w, "pod ns/p%d node=n%d owner=ReplicaSet/w%d cpu=10m\n", i, i%2000, i/10)
				fmt.Fprintf(w, "podmetrics ns/p%d cpu=%dm mem=1Mi\n", i, 50+i%97)
			}
		}},
	}
}

func nodes(w *strings.Builder, n int) {
	for i := range n {
		fmt.Fprintf(w, "node n%d labels=zone=z%d\n", i, i%3)
	}
}

func BenchmarkHardClusters(b *testing.B) {
	for _, hard := range hardClusters() {
		var text strings.Builder
		hard.lines(&text)
		builder := testkit.NewBuilder()
		if err := builder.Lines(text.String()); err != nil {
			b.Fatal(err)
		}
		snapshot, err := builder.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		p, err := testkit.ParsePolicy(hard.policy)
		if err != nil {
			b.Fatal(err)
		}
		for _, compat := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/compat=%v", hard.name, compat), func(b *testing.B) {
				moves := 0
				for b.Loop() {
					out, err := engine.Plan(snapshot, p, engine.Options{Compat: compat})
					if err != nil {
						b.Fatal(err)
					}
					for _, c := range out.Summary.ByStrategy {
						if c.Error != "" {
							b.Fatal(c.Error)
						}
					}
					moves = len(out.Moves)
				}
				b.ReportMetric(float64(moves), "moves")
			})
		}
	}
}
