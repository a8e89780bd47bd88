package pace

import (
	"fmt"
	"time"
)

// Message is the refusal as `kubectl describe pod` shows it, in one sentence.
func (r Refusal) Message() string {
	switch r.Reason {
	case Deadline:
		return "paced: " + r.place() + "; its place is kept"
	case Budget:
		return "paced: " + r.place() + "; too little of the runtime's deadline was left to start it; its place is kept"
	case Maintenance:
		return "paced: the network plugin of this node is being replaced; " + r.place() + "; its place is kept"
	case Unacknowledged:
		return "paced: its turn came but was not taken in time; " + r.place()
	case Superseded:
		return "paced: a newer attempt of this pod has taken the place of this one"
	case Overloaded:
		return fmt.Sprintf("paced: %d pods are waiting to start on this node already, no more are queued", r.Waiting)
	case Deleted:
		return "paced: this pod no longer exists"
	}
	return "paced: " + r.place()
}

// place is such as "12th of 40 pods waiting to start on this node (3 starting, limit 3), waited 48s".
func (r Refusal) place() string {
	load := fmt.Sprintf("(%d starting, limit %d)", r.Starting, r.Limit)
	if r.Rank == 0 {
		return fmt.Sprintf("%d pods are waiting to start on this node %s", r.Waiting, load)
	}
	return fmt.Sprintf("%s of %d waiting to start on this node %s, waited %s",
		ordinal(r.Rank), r.Waiting, load, r.Waited.Round(time.Second))
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n) + suffix
}
