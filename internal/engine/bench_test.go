//go:build linux

package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
	"evenkeel.dev/evenkeel/internal/testkit"
	"evenkeel.dev/evenkeel/internal/testkit/gen"
)

// size is nodes/pods.
type size struct{ nodes, pods int }

func sizes() []size { return []size{{100, 3000}, {1000, 30_000}, {5000, 150_000}} }

// BenchmarkCycle is the time of one cycle, from snapshot to plan.
func BenchmarkCycle(b *testing.B) {
	for _, s := range sizes() {
		snapshot, err := gen.Config{Nodes: s.nodes, Pods: s.pods, Seed: 42}.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range append(slices.Sorted(maps.Keys(testkit.Strategies())), "all") {
			for _, nodeFit := range []bool{false, true} {
				for _, compat := range []bool{false, true} {
					mode := map[bool]string{false: "default", true: "compat"}[compat]
					b.Run(fmt.Sprintf("%s/%d-%d/nodeFit=%v/%s", name, s.nodes, s.pods, nodeFit, mode), func(b *testing.B) {
						benchCycle(b, snapshot, benchPolicy(b, name, nodeFit), compat)
					})
				}
			}
		}
	}
}

// BenchmarkWorstCase is the same for a cluster with many constraints and namespaces.
func BenchmarkWorstCase(b *testing.B) {
	for _, s := range sizes() {
		snapshot, err := gen.WorstCase(s.nodes, s.pods, 42).Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		for _, nodeFit := range []bool{false, true} {
			b.Run(fmt.Sprintf("all/%d-%d/nodeFit=%v/default", s.nodes, s.pods, nodeFit), func(b *testing.B) {
				benchCycle(b, snapshot, benchPolicy(b, "all", nodeFit), false)
			})
		}
	}
}

func benchCycle(b *testing.B, s *cluster.Snapshot, p *policy.Policy, compat bool) {
	b.Helper()
	var moves, refusals, cycles int
	var spent time.Duration
	for b.Loop() {
		cycles++
		s := s.After(nil) // what a cycle indexes of its snapshot no other has
		before := cpuTime(b)
		out, err := engine.Plan(s, p, engine.Options{Compat: compat})
		spent += cpuTime(b) - before
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range out.Summary.ByStrategy {
			if c.Error != "" {
				b.Fatal(c.Error)
			}
		}
		moves, refusals = len(out.Moves), len(out.Refusals)
	}
	// The machine may be busy: what a cycle costs is the CPU time of this process, garbage collection included.
	b.ReportMetric(spent.Seconds()/float64(cycles), "cpu-s/op")
	b.ReportMetric(float64(moves), "moves")
	b.ReportMetric(float64(refusals), "refusals")
}

func benchPolicy(b *testing.B, name string, nodeFit bool) *policy.Policy {
	b.Helper()
	names := []string{name}
	if name == "all" {
		names = slices.Sorted(maps.Keys(testkit.Strategies()))
	}
	var config strings.Builder
	for _, n := range names {
		fmt.Fprintf(&config, "  - {name: %s, args: %s}\n", n, testkit.Strategies()[n])
	}
	doc := fmt.Sprintf(`apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: bench
  pluginConfig:
  - {name: DefaultEvictor, args: {nodeFit: %v}}
%s  plugins:
    deschedule: {enabled: [%s]}
    balance: {enabled: [%s]}
`, nodeFit, config.String(), strings.Join(atPoint("deschedule", names), ", "), strings.Join(atPoint("balance", names), ", "))
	p, _, err := policy.Load("bench", []byte(doc))
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func atPoint(point string, names []string) []string {
	var out []string
	for _, n := range names {
		if p, ok := strategy.LookupPlugin(n); ok && string(p.Point) == point {
			out = append(out, n)
		}
	}
	return out
}
