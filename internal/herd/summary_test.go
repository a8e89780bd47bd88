package herd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func starting(name string, from, to Seconds) Pod {
	return Pod{Name: name, Adds: 1, Ready: &to, Spans: []Span{{Plugin, from, from + 1}, {Starting, from + 1, to}, {Ready, to, 100}}}
}

func TestMostStartingCountsPluginAndStartButNotWhatOnlyTouches(t *testing.T) {
	for _, c := range []struct {
		name string
		pods []Pod
		want int
	}{
		{"nobody", nil, 0},
		{"one after the other", []Pod{starting("a", 0, 5), starting("b", 5, 9)}, 1},
		{"overlapping", []Pod{starting("a", 0, 5), starting("b", 4.999, 9), starting("c", 6, 7)}, 2},
		{"waiting does not count", []Pod{{Spans: []Span{{Waiting, 0, 9}}}, {Spans: []Span{{Away, 0, 9}}}, {Spans: []Span{{BackOff, 0, 9}}}}, 0},
	} {
		if got := mostStarting(c.pods); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestPercentilesAreByNearestRank(t *testing.T) {
	var hundred []Seconds
	for i := range 100 {
		hundred = append(hundred, Seconds(i+1))
	}
	for _, c := range []struct {
		values []Seconds
		p      float64
		want   Seconds
	}{
		{nil, 99, 0}, {hundred[:1], 50, 1}, {hundred[:2], 50, 1}, {hundred[:3], 50, 2}, {hundred[:99], 99, 99}, {hundred, 99, 99}, {hundred, 100, 100},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("percentile %g of %d: got %g, want %g", c.p, len(c.values), got, c.want)
		}
	}
}

func TestARunInWhichNotAllGotReadyHasNoSuchTime(t *testing.T) {
	pods := []Pod{starting("a", 0, 5), {Name: "b", Adds: 3, Refused: 2, Spans: []Span{{Starting, 0, 60}}}, starting("c", 0, 3), {Name: "d"}}
	pods[1].Restart = 1
	r := summarize(Paced, 2, pods, []Beat{{0, 0.2}, {1, 0.1}})
	want := Run{
		Name: Paced, Limit: 2, Ready: 2, First: new(Seconds(3)), Median: new(Seconds(5)), All: nil, MostStarting: 3, Adds: 5, Refused: 2, Restarts: 1,
		Heartbeat: Heartbeat{Count: 2, P50: 0.1, P99: 0.2, Max: 0.2, Beats: []Beat{{0, 0.2}, {1, 0.1}}}, Pods: pods,
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

func TestRatiosAreAboveOneWherePacingIsBetterAndMissingWhereATimeIs(t *testing.T) {
	unpaced := Run{First: new(Seconds(9)), Median: new(Seconds(10)), Heartbeat: Heartbeat{P50: 1, P99: 4, Max: 8}}
	paced := Run{First: new(Seconds(3)), Median: new(Seconds(20)), All: new(Seconds(30)), Heartbeat: Heartbeat{P50: 0.3, P99: 1, Max: 0}}
	want := Ratios{First: new(3.0), Median: new(0.5), HeartbeatP50: new(3.33), HeartbeatP99: new(4.0)}
	if diff := cmp.Diff(want, compare(unpaced, paced)); diff != "" {
		t.Error(diff)
	}
}
