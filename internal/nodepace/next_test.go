package nodepace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/nodepace"
	"evenkeel.dev/evenkeel/internal/pace"
)

// TestScenarios feeds observations, one per line of "key=value", a few seconds apart, and shows what changes in the
// status that an agent would write.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var status v1alpha1.NodePaceStatus
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		observed := well()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				now = now.Add(apply(t, &observed, line))
				next := nodepace.Next(status, observed, now)
				fmt.Fprintf(&b, "%s\n%s", now.Format("15:04:05.0"), changes(t, status, next))
				if diff := cmp.Diff(next, nodepace.Next(next, observed, now)); diff != "" {
					t.Errorf("the same observation makes another status: %s", diff)
				}
				status = next
			}
			return b.String()
		})
	})
}

func well() nodepace.Observation {
	yes := nodepace.State{Is: true}
	return nodepace.Observation{
		Agent: "v1", Queue: pace.Snapshot{Limit: 4, LimitedBy: "maxConcurrent"},
		Installed: yes, Tested: yes, Listening: yes, PodsKnown: yes,
	}
}

// apply changes the observation and returns how much later it is made.
func apply(t *testing.T, o *nodepace.Observation, line string) (later time.Duration) {
	t.Helper()
	for _, change := range strings.Fields(line) {
		key, value, _ := strings.Cut(change, "=")
		var err error
		switch key {
		case "after":
			later, err = time.ParseDuration(value)
		case "limit":
			_, err = fmt.Sscan(value, &o.Queue.Limit)
		case "by":
			o.Queue.LimitedBy = value
		case "holding":
			var n int
			_, err = fmt.Sscan(value, &n)
			o.Queue.Holding = make([]pace.Holder, n)
		case "locks":
			_, err = fmt.Sscan(value, &o.Queue.LockHolders)
		case "waiting":
			o.Queue.Waiting = nil
			for _, waited := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' }) {
				var d pace.Duration
				err = d.UnmarshalText([]byte(waited))
				o.Queue.Waiting = append(o.Queue.Waiting, pace.Waiter{Waited: d})
			}
		case "policy":
			o.Policy.Name, value, _ = strings.Cut(value, "/")
			o.Policy.Generation = int64(len(value)) // one mark for each generation
		case "rivals":
			o.Policy.Rivals = strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
		case "problem":
			o.Policy.Problem = value
		case "tested":
			o.Tested = nodepace.State{Is: value == "", Why: value}
		case "sha256":
			o.Executable = &v1alpha1.Executable{Path: "/opt/cni/bin/bridge", SHA256: value}
		default:
			t.Fatalf("unknown change %q", change)
		}
		if err != nil {
			t.Fatalf("%s: %v", change, err)
		}
	}
	return later
}

// changes are the lines of the second status that are not in the first, and "-" with those that went.
func changes(t *testing.T, before, after v1alpha1.NodePaceStatus) string {
	t.Helper()
	old, new := lines(t, before), lines(t, after)
	var b strings.Builder
	for _, line := range new {
		if !contains(old, line) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	for _, line := range old {
		if name, _, _ := strings.Cut(line, ":"); !strings.Contains(strings.Join(new, "\n"), name+":") {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	if b.Len() == 0 {
		return "  nothing to write\n"
	}
	return b.String()
}

func lines(t *testing.T, s v1alpha1.NodePaceStatus) []string {
	t.Helper()
	var list []string
	for _, c := range s.Conditions {
		list = append(list, fmt.Sprintf("%s: %s %s %q since %s", c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime.UTC().Format("15:04:05")))
	}
	s.Conditions = nil
	text, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return append(strings.Split(strings.TrimSpace(string(text)), "\n"), list...)
}

func contains(list []string, line string) bool {
	for _, l := range list {
		if l == line {
			return true
		}
	}
	return false
}
