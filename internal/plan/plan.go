// Package plan is the vocabulary of decisions: what moves, what was refused, and why.
//
// A Plan is plain data. It is what a cycle produces, what the executor carries out, what reports render and what is stored;
// its JSON form (kind Plan, evenkeel.dev/v1alpha1) is a contract with users.
package plan

import (
	"encoding/json"
	"time"
)

// The API type of a plan's JSON form.
const (
	APIVersion = "evenkeel.dev/v1alpha1"
	Kind       = "Plan"
)

// Plan is the outcome of one cycle.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is when the snapshot was taken: the cycle's "now".
	TakenAt time.Time `json:"takenAt"`
	// Compat is "descheduler" when the peer's choices were made, else empty.
	Compat   string    `json:"compat,omitempty"`
	Moves    []Move    `json:"moves"`
	Refusals []Refusal `json:"refusals"`
	Summary  Summary   `json:"summary"`
	// Story tells one pod's whole story, when that was asked for.
	Story *Story `json:"story,omitempty"`
}

// PodRef names a pod.
type PodRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// String is "namespace/name".
func (r PodRef) String() string { return r.Namespace + "/" + r.Name }

// OwnerRef names what owns a pod.
type OwnerRef struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Move is a pod that is to be evicted so that it can start elsewhere.
type Move struct {
	Seq      int       `json:"seq"` // 1, 2, …: the order of eviction
	Pod      PodRef    `json:"pod"`
	Owner    *OwnerRef `json:"owner,omitempty"`
	Node     string    `json:"node"` // where it is now
	Profile  string    `json:"profile"`
	Strategy string    `json:"strategy"`
	Reason   Reason    `json:"reason"`
	// Room is a node on which the replacement could start and room is booked for it; the scheduler may choose another. Empty when
	// none was looked for.
	Room string `json:"room,omitempty"`
}

// Refusal is a move that was wanted and not made.
type Refusal struct {
	Pod      PodRef `json:"pod"`
	Node     string `json:"node"`
	Profile  string `json:"profile"`
	Strategy string `json:"strategy"`
	Gate     string `json:"gate"`
	Reason   Reason `json:"reason"`
}

// Reason is why something was decided: a stable code for machines, a sentence for people, and the numbers the decision was made from.
type Reason struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Numbers Numbers `json:"numbers,omitempty"`
}

// Numbers are the inputs of a decision, by name. JSON objects of them have their keys in order.
type Numbers map[string]float64

// Summary counts a plan.
type Summary struct {
	Nodes         int `json:"nodes"`         // in the snapshot
	EligibleNodes int `json:"eligibleNodes"` // ready and selected by the policy
	Pods          int `json:"pods"`
	Moves         int `json:"moves"`
	Refusals      int `json:"refusals"`
	// Skipped says why nothing was considered at all, e.g. fewer than two nodes.
	Skipped string `json:"skipped,omitempty"`
	// ByStrategy counts moves and refusals of each profile and strategy, in policy order.
	ByStrategy []StrategyCount `json:"byStrategy"`
	// ByGate counts refusals, ordered by gate.
	ByGate []GateCount `json:"byGate"`
	// WithoutBudget are the workloads the plan touches that no PodDisruptionBudget covers, in order.
	WithoutBudget []string `json:"withoutBudget,omitempty"`
	// Notes are remarks on the input: objects left out, metrics that are missing.
	Notes []string `json:"notes,omitempty"`
}

// StrategyCount counts what one strategy of one profile came to.
type StrategyCount struct {
	Profile  string `json:"profile"`
	Strategy string `json:"strategy"`
	Moves    int    `json:"moves"`
	Refusals int    `json:"refusals"`
	// Error says why the strategy could not run; the others ran nevertheless.
	Error string `json:"error,omitempty"`
}

// GateCount counts the refusals of one gate.
type GateCount struct {
	Gate     string `json:"gate"`
	Refusals int    `json:"refusals"`
}

// Story is everything that was found out about one pod.
type Story struct {
	Pod   PodRef    `json:"pod"`
	Node  string    `json:"node"`
	Found bool      `json:"found"`
	Lines []Chapter `json:"lines"`
}

// Chapter is one step of a story.
type Chapter struct {
	// About is the profile and strategy, or the gate, that the step belongs to.
	About  string `json:"about"`
	Reason Reason `json:"reason"`
}

// Scope is how far a refusal reaches: whether it makes sense to try on.
type Scope uint8

// The scopes, from narrow to wide.
const (
	ThisPod       Scope = iota // the next pod may be moved
	ThisNode                   // no further pod of this node
	ThisNamespace              // no further pod of this namespace
	ThisCycle                  // no further pod at all
)

// Verdict is the answer to a proposed move.
type Verdict struct {
	Accepted bool
	Gate     string // which gate refused
	Reason   Reason // why, when refused
	Stop     Scope  // when refused: how far that reaches
}

// MarshalJSON makes empty lists [] and not null, and times UTC, so that the contract has one form.
func (p *Plan) MarshalJSON() ([]byte, error) {
	type plain Plan
	out := plain(*p)
	out.APIVersion, out.Kind, out.TakenAt = APIVersion, Kind, p.TakenAt.UTC()
	if out.Moves == nil {
		out.Moves = []Move{}
	}
	if out.Refusals == nil {
		out.Refusals = []Refusal{}
	}
	if out.Summary.ByStrategy == nil {
		out.Summary.ByStrategy = []StrategyCount{}
	}
	if out.Summary.ByGate == nil {
		out.Summary.ByGate = []GateCount{}
	}
	return json.Marshal(out)
}
