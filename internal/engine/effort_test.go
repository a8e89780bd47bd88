package engine_test

import (
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// TestSearchesThatEndEarlyAreInThePlan: pods that not every node was looked at for stay with a reason of their own, and the summary says so.
func TestSearchesThatEndEarlyAreInThePlan(t *testing.T) {
	hard := testkit.HardClusters()
	i := slices.IndexFunc(hard, func(h testkit.HardCluster) bool {
		return h.Name == "measured pods, the targets full by what their pods request"
	})
	for _, compat := range []bool{false, true} {
		s, p, err := hard[i].Build(200)
		if err != nil {
			t.Fatal(err)
		}
		out, err := engine.Plan(s, p, engine.Options{Compat: compat})
		if err != nil {
			t.Fatal(err)
		}
		ended := 0
		for _, r := range out.Refusals {
			if r.Reason.Code == fit.CodeSearchEnded {
				ended++
			}
		}
		noted := slices.ContainsFunc(out.Summary.Notes, func(note string) bool { return strings.Contains(note, "ended early") })
		if want := !compat; (ended > 0) != want || noted != want {
			t.Errorf("compat %v: %d searches ended early, noted: %v", compat, ended, noted)
		}
	}
}
