package gate

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// StartGrace is how long a pod that is not ready counts as starting: moving it would only make it start once more.
const StartGrace = 5 * time.Minute

// Starting reports whether the pod has started lately, is not ready yet, and so had better be left alone.
func Starting(p *cluster.Pod, now time.Time) (plan.Reason, bool) {
	if p.Ready || p.Terminal() || p.Started.IsZero() {
		return plan.Reason{}, false
	}
	since := now.Sub(p.Started)
	if since < 0 || since >= StartGrace {
		return plan.Reason{}, false
	}
	return plan.Reason{
		Code:    "StillStarting",
		Message: fmt.Sprintf("it started %s ago and is not ready yet", since),
		Numbers: plan.Numbers{"startedSecondsAgo": since.Seconds()},
	}, true
}
