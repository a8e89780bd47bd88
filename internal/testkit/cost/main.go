// Command cost runs one cycle on each kind of cluster in two sizes, one twice the other. Built with -cover -covermode=atomic, it leaves the
// counts of the statements that each cycle executed in a folder of their own, DIR/<number of the line>/<0 or 1>:
//
//	cost DIR [compat]
//
// It prints a line for each kind of cluster: name, nodes, pods and constraints of the smaller one, and the bytes that either cycle allocated.
package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/coverage"
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/testkit"
	"evenkeel.dev/evenkeel/internal/testkit/gen"
)

// kind is a kind of cluster with a policy.
type kind struct {
	testkit.HardCluster
	nodes int // of the smaller cluster
	build func(nodes int) (*cluster.Snapshot, *policy.Policy, error)
}

func kinds() []kind {
	const nodeFit = "evictor\n  nodeFit: true\n"
	strategies := testkit.Strategies()
	all := nodeFit
	policies := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(strategies)) {
		text := name + "\n  " + strategies[name] + "\n"
		policies[name] = nodeFit + text
		all += text
	}
	policies["all together"] = all
	ordinary := remembered(func(n int) gen.Config { return gen.Config{Nodes: n, Pods: 30 * n, Seed: 42} })
	worst := remembered(func(n int) gen.Config { return gen.WorstCase(n, 30*n, 42) })
	var list []kind
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		text := policies[name]
		list = append(list, generated(testkit.HardCluster{Name: name}, text, ordinary),
			// one workload for every two nodes has a constraint over host names
			generated(testkit.HardCluster{Name: name + ", worst case", Constraints: 1}, text, worst))
	}
	for _, hard := range testkit.HardClusters() {
		list = append(list, kind{hard, 100, hard.Build})
	}
	return list
}

type maker func(nodes int) (*cluster.Snapshot, error)

// remembered makes each cluster once.
func remembered(config func(nodes int) gen.Config) maker {
	known := map[int]*cluster.Snapshot{}
	return func(nodes int) (*cluster.Snapshot, error) {
		var err error
		if known[nodes] == nil {
			known[nodes], err = config(nodes).Snapshot()
		}
		return known[nodes], err
	}
}

func generated(what testkit.HardCluster, policyText string, from maker) kind {
	return kind{what, 400, func(nodes int) (*cluster.Snapshot, *policy.Policy, error) {
		s, err := from(nodes)
		if err != nil {
			return nil, nil, err
		}
		p, err := testkit.ParsePolicy(policyText)
		return s, p, err
	}}
}

// cycle runs one cycle and leaves its counts in dir.
func (k *kind) cycle(nodes int, compat bool, dir string) (bytes uint64, pods int, err error) {
	s, p, err := k.build(nodes)
	if err != nil {
		return 0, 0, err
	}
	if err := cmp.Or(os.MkdirAll(dir, 0o750), coverage.ClearCounters()); err != nil {
		return 0, 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := engine.Plan(s, p, engine.Options{Compat: compat, Extras: k.Extras}); err != nil {
		return 0, 0, err
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, len(s.Pods), cmp.Or(coverage.WriteCountersDir(dir), coverage.WriteMetaDir(dir))
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("expected a folder")
	}
	for i, k := range kinds() {
		var bytes [2]uint64
		var pods [2]int
		for j := range bytes {
			var err error
			bytes[j], pods[j], err = k.cycle(k.nodes<<j, len(args) > 1, filepath.Join(args[0], fmt.Sprint(i), fmt.Sprint(j)))
			if err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
		}
		fmt.Printf("%s\t%d\t%d\t%d\t%d\t%d\n", k.Name, k.nodes, pods[0], k.Constraints*k.nodes, bytes[0], bytes[1])
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}
