package strategy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/strategy"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// onlooker lets every pod be looked at and takes no move.
type onlooker struct{}

func (onlooker) Evictable(p *cluster.Pod) bool                  { return p.Index%7 != 0 }
func (onlooker) PreEviction(*cluster.Pod) bool                  { return true }
func (onlooker) Try(*cluster.Pod, strategy.Why) plan.Verdict    { return plan.Verdict{} }
func (onlooker) Refuse(*cluster.Pod, string, plan.Reason)       {}
func (onlooker) Tell(p *cluster.Pod, reason func() plan.Reason) {}
func (onlooker) Note(string)                                    {}

// measuredPods counts pods beside what is measured.
const measuredPods = `LowNodeUtilization
  thresholds: {cpu: 30, pods: 60}
  targetThresholds: {cpu: 100, pods: 60}
  metricsUtilization: {source: KubernetesMetrics}
  evictableNamespaces: {exclude: [b]}
`

// TestOpinionsFollowTheCycle: an opinion that has followed moves says about every pod and node what one would that is formed only then, with the same numbers.
func TestOpinionsFollowTheCycle(t *testing.T) {
	objections := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		for i, text := range append(balancePolicies(), "RemoveDuplicates\n", "RemovePodsViolatingNodeTaints\n  includePreferNoSchedule: true\n", measuredPods) {
			p, err := testkit.ParsePolicy(text)
			if err != nil {
				t.Fatal(err)
			}
			use := append(p.Profiles[0].Balance, p.Profiles[0].Deschedule...)[0]
			built, err := strategy.New(use.Name, use.Args)
			if err != nil {
				t.Fatal(err)
			}
			opinionated, ok := built.(strategy.Opinionated)
			// Left out: deviations are from the average when the opinion was formed; which spread constraints there are depends on the pods that are there.
			if !ok || i == 1 || use.Name == "RemovePodsViolatingTopologySpreadConstraint" {
				continue
			}
			t.Run(fmt.Sprintf("%d/%s/%d", seed, use.Name, i), func(t *testing.T) {
				view := cluster.NewView(testkit.Snapshot(t, testkit.RandomBalance(rng)))
				c := &strategy.Cycle{Gatekeeper: onlooker{}, View: view, Nodes: view.Nodes[:len(view.Nodes)-1], Now: view.TakenAt, ByWorkload: rng.IntN(2) == 0}
				following := opinionated.Opinion(c)
				if following == nil || len(view.Pods) == 0 {
					return
				}
				for range 12 {
					// Asked about some pods only, so that not everything is counted from the beginning.
					objections += compareOpinions(t, c, opinionated, following, rng.IntN(2) == 0)
					moved := view.Pods[rng.IntN(len(view.Pods))]
					if view.Gone(moved) || moved.Node == nil || moved.Terminal() {
						continue
					}
					to := view.Nodes[rng.IntN(len(view.Nodes))]
					view.Remove(moved)
					if rng.IntN(4) == 0 {
						to = nil
					} else {
						view.Expect(moved, to)
					}
					following.Moved(moved, to)
				}
			})
		}
	}
	if objections == 0 {
		t.Error("nobody objected to anything")
	}
}

func compareOpinions(t *testing.T, c *strategy.Cycle, of strategy.Opinionated, following strategy.Opinion, all bool) (objections int) {
	t.Helper()
	fresh := of.Opinion(c)
	for _, p := range c.View.Pods {
		if c.View.Gone(p) || p.Node == nil || p.Terminal() || !all && p.Index%5 != 0 {
			continue
		}
		for _, n := range c.View.Nodes {
			if n == p.Node {
				continue
			}
			have, want := said(following.Against(p, n)), said(fresh.Against(p, n))
			if have != want {
				t.Fatalf("%s on %s: the one that followed says %q, a fresh one %q", p.Key(), n.Name, have, want)
			}
			if want != "" {
				objections++
			}
		}
	}
	return objections
}

func said(reason func() plan.Reason) string {
	if reason == nil {
		return ""
	}
	return reason().Message
}
