package plan

import "time"

// Result is how an eviction ended.
type Result string

// The results. The peer's metric has the same words for success, error and background.
const (
	Evicted    Result = "success"
	Blocked    Result = "blocked"    // 429: a PodDisruptionBudget, or the API server asked to come back later
	Gone       Result = "gone"       // 404: the pod, or the pod of that UID, is not there any more
	Forbidden  Result = "forbidden"  // 403
	Failed     Result = "error"      // anything else
	Background Result = "background" // accepted; another controller will move the pod
	Skipped    Result = "skipped"    // not asked: the cycle was stopped before
)

// Outcome is what became of a move.
type Outcome struct {
	Move    Move          `json:"move"`
	Result  Result        `json:"result"`
	Message string        `json:"message,omitempty"`
	Took    time.Duration `json:"took"` // nanoseconds
}
