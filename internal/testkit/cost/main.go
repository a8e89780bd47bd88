// Command cost runs a cycle on each kind of cluster in two sizes, one twice the other. Built with -cover -covermode=atomic, it leaves the
// counts of the statements that each cycle executed in a folder of their own, DIR/<number of the line>/<0 or 1>:
//
//	cost DIR [compat] [WORDS]
//
// It prints a line for each kind of cluster: name, nodes, pods and constraints of the smaller one, the bytes that either cycle allocated, and how many resources pods may lack.
// With words, it looks only at those that have them in their names.
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
	"strings"

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
	build func(nodes int) ([]*cluster.Snapshot, *policy.Policy, error)
}

// seeds of the clusters made by chance, whose counts are added up: in a single one of twice the size there can be three times as many pods of
// a rare kind.
const seeds = 5

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
	ordinary := remembered(func(n int, seed uint64) gen.Config { return gen.Config{Nodes: n, Pods: 30 * n, Seed: seed} })
	worst := remembered(func(n int, seed uint64) gen.Config { return gen.WorstCase(n, 30*n, seed) })
	var list []kind
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		text := policies[name]
		list = append(list, generated(testkit.HardCluster{Name: name}, text, ordinary),
			// one workload for every two nodes has a constraint over host names
			generated(testkit.HardCluster{Name: name + ", worst case", Constraints: 1}, text, worst))
	}
	for _, hard := range testkit.HardClusters() {
		list = append(list, kind{hard, cmp.Or(hard.Nodes, 100), func(nodes int) ([]*cluster.Snapshot, *policy.Policy, error) {
			s, p, err := hard.Build(nodes)
			return []*cluster.Snapshot{s}, p, err
		}})
	}
	return list
}

type maker func(nodes int) ([]*cluster.Snapshot, error)

// remembered makes each cluster once.
func remembered(config func(nodes int, seed uint64) gen.Config) maker {
	known := map[int][]*cluster.Snapshot{}
	return func(nodes int) ([]*cluster.Snapshot, error) {
		for seed := uint64(len(known[nodes])); seed < seeds; seed++ {
			s, err := config(nodes, seed).Snapshot()
			if err != nil {
				return nil, err
			}
			known[nodes] = append(known[nodes], s)
		}
		return known[nodes], nil
	}
}

func generated(what testkit.HardCluster, policyText string, from maker) kind {
	return kind{what, 200, func(nodes int) ([]*cluster.Snapshot, *policy.Policy, error) {
		list, err := from(nodes)
		if err != nil {
			return nil, nil, err
		}
		p, err := testkit.ParsePolicy(policyText)
		return list, p, err
	}}
}

// cycle runs one cycle on each cluster of a size and leaves the counts in dir.
func (k *kind) cycle(nodes int, compat bool, dir string) (bytes uint64, pods int, err error) {
	list, p, err := k.build(nodes)
	if err != nil {
		return 0, 0, err
	}
	if err := cmp.Or(os.MkdirAll(dir, 0o750), coverage.ClearCounters()); err != nil {
		return 0, 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, s := range list {
		if _, err := engine.Plan(s, p, engine.Options{Compat: compat, Extras: k.Extras}); err != nil {
			return 0, 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, len(list[0].Pods), cmp.Or(coverage.WriteCountersDir(dir), coverage.WriteMetaDir(dir))
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("expected a folder")
	}
	compat, words := slices.Contains(args, "compat"), strings.Join(slices.DeleteFunc(args[1:], func(s string) bool { return s == "compat" }), " ")
	for i, k := range kinds() {
		if !strings.Contains(k.Name, words) {
			continue
		}
		var bytes [2]uint64
		var pods [2]int
		for j := range bytes {
			var err error
			bytes[j], pods[j], err = k.cycle(k.nodes<<j, compat, filepath.Join(args[0], fmt.Sprint(i), fmt.Sprint(j)))
			if err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
		}
		fmt.Printf("%s\t%d\t%d\t%d\t%d\t%d\t%d\n", k.Name, k.nodes, pods[0], k.Constraints*k.nodes, bytes[0], bytes[1], k.Resources)
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}
