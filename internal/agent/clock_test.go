package agent

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/agent/source"
)

func TestOnlyAClockThatIsSetBackIsNoticed(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := newWallClock(start)
	for _, step := range []struct {
		passed time.Duration // since the start
		wall   time.Duration // what the clock shows, since what it showed then
		want   time.Duration
	}{
		{time.Hour, time.Hour, 0},
		{2 * time.Hour, 2*time.Hour - 500*time.Millisecond, 0}, // a little slow
		{3 * time.Hour, time.Hour, 2 * time.Hour},              // set back
		{4 * time.Hour, 2 * time.Hour, 0},                      // once
		{5 * time.Hour, 9 * time.Hour, 0},                      // set forward: later is later all the same
		{6 * time.Hour, 9 * time.Hour, time.Hour},              // and back again
		{6 * time.Hour, 99 * time.Hour, 0},                     // slept
	} {
		if got := c.setBack(start.Add(step.wall), step.passed); got != step.want {
			t.Errorf("after %s the clock shows %s: set back by %s, want %s", step.passed, step.wall, got, step.want)
		}
	}
}

// TestAClockSetRightAfterTheBootReleasesSlots boots with a clock that is an hour
// ahead, as machines without a battery do, and sets it right while pods start: by
// the first clock everything that starts then was there before the boot.
func TestAClockSetRightAfterTheBootReleasesSlots(t *testing.T) {
	right := time.Now().Add(-time.Hour).Round(0)
	wrong := right.Add(time.Hour)
	l, _ := newTestLoop(t, wrong, limit(2))
	l.podChange(wrong, source.Change{Kind: source.Synced})
	wrong = wrong.Add(6 * time.Second)
	l.turn(wrong)
	l.askFor(wrong, 1, "unseen") // granted blindly
	l.podChange(wrong, source.Change{Kind: source.Seen, Pod: pod("seen", sandboxed(right.Add(-time.Hour)), running("old", right.Add(-time.Hour)))})
	l.askFor(wrong, 2, "seen")
	if n := l.queue.Counts().Holding; n != 2 {
		t.Fatalf("%d pods start, want 2", n)
	}

	now := right.Add(7 * time.Second) // no time has passed but a second
	l.pods.clockSetBack(l.clock.setBack(now, 7*time.Second))
	for _, name := range []string{"unseen", "seen"} {
		started := pod(name, sandboxed(now), running("new", now))
		l.podChange(now, source.Change{Kind: source.Seen, Pod: started})
	}
	if n := l.queue.Counts().Holding; n != 0 {
		t.Errorf("%d slots are held by pods that have started: %+v", n, l.queue.Snapshot().Holding)
	}
}
