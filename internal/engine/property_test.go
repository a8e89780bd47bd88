package engine_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/simulate"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// rounds is how many random clusters each property is tried on.
const rounds = 150

// TestShuffledInputGivesTheSameBytes: neither the order of the objects nor map iteration decides anything.
func TestShuffledInputGivesTheSameBytes(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, rng *rand.Rand, lines []string) {
		p := randomPolicy(t, rng)
		for _, compat := range []bool{false, true} {
			first := testkit.JSON(t, testkit.Plan(t, testkit.Snapshot(t, lines), p, compat))
			rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			again := testkit.JSON(t, testkit.Plan(t, testkit.Snapshot(t, lines), p, compat))
			if diff := cmp.Diff(first, again); diff != "" {
				t.Fatalf("compat %v: the plan depends on the order of the input:\n%s", compat, diff)
			}
		}
	})
}

// TestNeverMoreThanThePeer: by default a strategy moves no more than the peer's would. Evening replicas is the stated exception, and so
// are, for the two that look at node utilization, nodes with taints: the peer takes some for obstacles that are none.
func TestNeverMoreThanThePeer(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, rng *rand.Rand, lines []string) {
		for name := range testkit.Strategies() {
			if name == "RemoveDuplicates" {
				continue
			}
			lines := lines
			if strings.HasSuffix(name, "NodeUtilization") {
				lines = withoutTaints(lines)
			}
			p := parse(t, name+"\n  "+randomArgs(name)+"\nevictor\n  nodeFit: "+fmt.Sprint(rng.IntN(2) == 0)+"\n")
			ours, peers := testkit.Plan(t, testkit.Snapshot(t, lines), p, false), testkit.Plan(t, testkit.Snapshot(t, lines), p, true)
			if len(ours.Moves) > len(peers.Moves) {
				t.Errorf("%s: %d moves, the peer makes %d\n%s\n%s\n%s", name, len(ours.Moves), len(peers.Moves), strings.Join(lines, "\n"), testkit.JSON(t, ours), testkit.JSON(t, peers))
			}
		}
	})
}

// TestNeverMoreThanThePeerWithinLimits: where limits hold the peer back, neither other victims nor further looks make more moves of it, whatever
// strategies are enabled.
func TestNeverMoreThanThePeerWithinLimits(t *testing.T) {
	names := slices.DeleteFunc(sortedStrategies(), func(name string) bool { return name == "RemoveDuplicates" })
	held := 0
	for i, names := range combinations(names) {
		for seed := range uint64(60) {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			lines := testkit.RandomCluster(rng)
			limits := fmt.Sprintf("limits\n  maxNoOfPodsToEvictPerNode: %d\n", 1+rng.IntN(2))
			if rng.IntN(2) == 0 {
				limits = fmt.Sprintf("limits\n  maxNoOfPodsToEvictPerNamespace: %d\n", 1+rng.IntN(3))
			}
			p := parse(t, policyOf(names)+limits)
			s := testkit.Snapshot(t, lines)
			ours, peers := testkit.Plan(t, s, p, false), testkit.Plan(t, s, p, true)
			if len(ours.Moves) > len(peers.Moves) {
				t.Errorf("%v, seed %d: %d moves, the peer makes %d\n%s%s", names, seed, len(ours.Moves), len(peers.Moves), limits, strings.Join(lines, "\n"))
			}
			if slices.ContainsFunc(ours.Refusals, func(r plan.Refusal) bool { return r.Reason.Code == "PeersLimit" }) {
				held++
			}
		}
	}
	if held == 0 {
		t.Error("in no cluster was it the peer's number of moves that held pods back")
	}
}

// TestNeverMoreAtATimeThanThePeer: where a plan has more moves than the peer's, it is because the peer would not be done either: from the cluster as it is after the
// first moves it would make as many as are left.
func TestNeverMoreAtATimeThanThePeer(t *testing.T) {
	more := 0
	for _, name := range placing() {
		if name == "RemoveDuplicates" {
			continue
		}
		p := together(t, []string{name})
		forSeeds(t, 1000, func(t *testing.T, lines []string) {
			lines = withoutTaints(ownOwners(lines))
			s := testkit.Snapshot(t, lines)
			ours := testkit.Plan(t, s, p, false)
			if len(ours.Moves) > len(testkit.Plan(t, s, p, true).Moves) {
				more++
			}
			if !asThePeerGoesOn(t, s, ours.Moves, p) {
				t.Errorf("%s moves more than the peer\n%s\n%s", name, strings.Join(lines, "\n"), testkit.JSON(t, ours))
			}
		})
	}
	if more == 0 || more > 10 {
		t.Errorf("%d of 6,000 plans have more moves than the peer's, expected some, and 10 at most", more)
	}
}

// asThePeerGoesOn reports whether the moves can be made in turns none of which has more than the peer would make then.
func asThePeerGoesOn(t *testing.T, s *cluster.Snapshot, moves []plan.Move, p *policy.Policy) bool {
	t.Helper()
	peers := len(testkit.Plan(t, s, p, true).Moves)
	if len(moves) <= peers {
		return true
	}
	for turn := peers; turn > 0; turn-- {
		next, err := simulate.Apply(s, &plan.Plan{Moves: moves[:turn]}, true).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if asThePeerGoesOn(t, next, moves[turn:], p) {
			return true
		}
	}
	return false
}

// withoutTaints takes away what the peer and we look at differently.
func withoutTaints(lines []string) []string {
	return strings.Split(regexp.MustCompile(` taint=\S+`).ReplaceAllString(strings.Join(lines, "\n"), ""), "\n")
}

// TestAPlanAddsUp: each pod moves once, the moves are numbered, and the summary counts what is there.
func TestAPlanAddsUp(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, rng *rand.Rand, lines []string) {
		out := testkit.Plan(t, testkit.Snapshot(t, lines), randomPolicy(t, rng), false)
		pods := map[plan.PodRef]bool{}
		for i, m := range out.Moves {
			if m.Seq != i+1 || pods[m.Pod] || m.Room == m.Node {
				t.Errorf("move %d is %+v", i+1, m)
			}
			pods[m.Pod] = true
		}
		sum := plan.Summary{}
		for _, c := range out.Summary.ByStrategy {
			sum.Moves, sum.Refusals = sum.Moves+c.Moves, sum.Refusals+c.Refusals
		}
		gates := 0
		for _, g := range out.Summary.ByGate {
			gates += g.Refusals
		}
		if s := out.Summary; s.Moves != len(out.Moves) || s.Refusals != len(out.Refusals) || sum.Moves != s.Moves || sum.Refusals != s.Refusals || gates != s.Refusals {
			t.Errorf("%d moves and %d refusals, summed up as %+v", len(out.Moves), len(out.Refusals), s)
		}
	})
}

func forRandomClusters(t *testing.T, check func(*testing.T, *rand.Rand, []string)) {
	t.Helper()
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			check(t, rng, testkit.RandomCluster(rng))
		})
	}
}

func randomArgs(name string) string {
	return map[string]string{
		"HighNodeUtilization":                         "thresholds: {cpu: 40, memory: 40}",
		"LowNodeUtilization":                          "{thresholds: {cpu: 30, memory: 30}, targetThresholds: {cpu: 50, memory: 50}}",
		"PodLifeTime":                                 "maxPodLifeTimeSeconds: 604800",
		"RemovePodsHavingTooManyRestarts":             "podRestartThreshold: 10",
		"RemovePodsViolatingNodeAffinity":             "nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution, preferredDuringSchedulingIgnoredDuringExecution]",
		"RemovePodsViolatingTopologySpreadConstraint": "constraints: [DoNotSchedule, ScheduleAnyway]",
	}[name]
}

// randomPolicy enables everything, with random limits.
func randomPolicy(t *testing.T, rng *rand.Rand) *policy.Policy {
	text := "evictor\n  nodeFit: " + fmt.Sprint(rng.IntN(2) == 0) + "\n"
	for _, name := range sortedStrategies() {
		text += name + "\n  " + randomArgs(name) + "\n"
	}
	return parse(t, text+randomLimits(rng))
}

// randomLimits sets some of the limits of a cycle.
func randomLimits(rng *rand.Rand) string {
	text := "limits\n"
	for _, field := range []string{"maxNoOfPodsToEvictTotal", "maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace"} {
		if rng.IntN(3) == 0 {
			text += fmt.Sprintf("  %s: %d\n", field, rng.IntN(5))
		}
	}
	return text
}

func pick(rng *rand.Rand, choices ...string) string { return choices[rng.IntN(len(choices))] }

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := testkit.ParsePolicy(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}
