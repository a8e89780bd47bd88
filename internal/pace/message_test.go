package pace_test

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
)

func TestMessageSaysWhatThePodWaitsFor(t *testing.T) {
	paced := pace.Refusal{Rank: 12, Waiting: 40, Starting: 3, Limit: 3, Waited: 47800 * time.Millisecond}
	const place = " of 40 waiting to start on this node (3 starting, limit 3), waited 48s"
	for _, test := range []struct {
		reason pace.RefusalReason
		rank   int
		want   string
	}{
		{pace.Deadline, 12, "paced: 12th" + place + "; its place is kept"},
		{pace.Deadline, 1, "paced: 1st" + place + "; its place is kept"},
		{pace.Deadline, 22, "paced: 22nd" + place + "; its place is kept"},
		{pace.Deadline, 113, "paced: 113th" + place + "; its place is kept"},
		{pace.Budget, 33, "paced: 33rd" + place +
			"; too little of the runtime's deadline was left to start it; its place is kept"},
		{pace.Maintenance, 2, "paced: the network plugin of this node is being replaced; 2nd" + place +
			"; its place is kept"},
		{pace.Unacknowledged, 4, "paced: its turn came but was not taken in time; 4th" + place},
		{pace.Unacknowledged, 0, "paced: its turn came but was not taken in time; " +
			"40 pods are waiting to start on this node (3 starting, limit 3)"},
		{pace.Superseded, 2, "paced: a newer attempt of this pod has taken the place of this one"},
		{pace.Overloaded, 0, "paced: 40 pods are waiting to start on this node already, no more are queued"},
		{pace.Deleted, 0, "paced: this pod no longer exists"},
	} {
		r := paced
		r.Reason, r.Rank = test.reason, test.rank
		if got := r.Message(); got != test.want {
			t.Errorf("%s: got  %s\nwant %s", test.reason, got, test.want)
		}
	}
}
