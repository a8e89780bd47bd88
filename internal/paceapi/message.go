package paceapi

import (
	"encoding/json"
	"fmt"
	"time"
)

// Version is the protocol version that this package speaks.
const Version = 1

// MaxLine is the longest line either side accepts, in bytes, newline included.
const MaxLine = 8192

// How often the agent must speak to a waiting executable, and how long the
// executable listens in vain before it takes the agent for hung: to the first
// answer, and between later ones.
const (
	KeepAlive   = 5 * time.Second
	FirstAnswer = 3 * time.Second
	Silence     = 15 * time.Second
)

// Limits of what a peer may send. Kubernetes allows names of 253 bytes; a reason
// is a sentence for people, and Format cuts it to its limit.
const (
	maxName     = 512
	maxReason   = 1024
	maxDuration = 24 * time.Hour
)

// Type says what a line is.
type Type string

// The types of lines, in the order of a conversation.
const (
	TypeRequest Type = "request"
	TypeWaiting Type = "waiting"
	TypeGrant   Type = "grant"
	TypeRefuse  Type = "refuse"
	TypeAck     Type = "ack"
	TypeDone    Type = "done"
	TypePing    Type = "ping"
	TypePong    Type = "pong"
	TypeError   Type = "error"
)

// Millis is a duration that travels as whole milliseconds.
type Millis time.Duration

// Milliseconds is m as a number.
func (m Millis) Milliseconds() int64 { return time.Duration(m).Milliseconds() }

// MarshalJSON implements json.Marshaler.
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(m.Milliseconds())
}

// UnmarshalJSON implements json.Unmarshaler. Durations are between 0 and 24 h.
func (m *Millis) UnmarshalJSON(b []byte) error {
	var ms int64
	if err := json.Unmarshal(b, &ms); err != nil {
		return err
	}
	if ms < 0 || ms > maxDuration.Milliseconds() {
		return fmt.Errorf("duration of %d ms is not between 0 and 24 h", ms)
	}
	*m = Millis(time.Duration(ms) * time.Millisecond)
	return nil
}

// Request asks for a go-ahead for one ADD of one pod, or reports, after the
// connection was lost, an ADD that is already running.
type Request struct {
	// UID of the pod as the runtime knows it; empty with runtimes that do not
	// pass it on, and not the API object's for static pods.
	UID       string `json:"uid,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Container is the id of the pod's sandbox: new at each of the kubelet's attempts.
	Container string `json:"container,omitempty"`
	NetNS     string `json:"netns,omitempty"`
	IfName    string `json:"ifname,omitempty"`
	// Attempt counts the ADDs of this pod that ended in a refusal, this one included: 1 at first.
	Attempt int `json:"attempt,omitempty"`
	// Remaining is how much longer this attempt may wait.
	Remaining Millis `json:"remainingMs"`
	// Waited is how long this attempt has waited, before this connection too.
	Waited Millis `json:"waitedMs,omitempty"`
	// SinceFirst is how long ago the first attempt of this pod began.
	SinceFirst Millis `json:"sinceFirstMs,omitempty"`
	// Running says that the original has been running for RunningFor, let
	// through by an earlier agent, or by a lock file if Degraded.
	Running    bool   `json:"running,omitempty"`
	RunningFor Millis `json:"runningMs,omitempty"`
	Degraded   bool   `json:"degraded,omitempty"`
}

// Key identifies the pod across its attempts: its UID, or its namespace and
// name where the runtime gave none.
func (r Request) Key() string {
	if r.UID != "" {
		return r.UID
	}
	return r.Namespace + "/" + r.Name
}

// Place is where a pod stands in the queue and why it does not start yet. Rank
// counts from 1; Rank and Length are 0 where the agent cannot say.
type Place struct {
	Rank   int    `json:"rank,omitempty"`
	Length int    `json:"length,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Done reports the end of the original plugin.
type Done struct {
	Duration Millis `json:"durationMs"`
	// Exit is the original's exit code; 128 + the number where a signal ended it.
	Exit int `json:"exit"`
}

// Message is one line. Which of the other fields mean something follows from
// Type: Request for request, Place for waiting and refuse, Done for done,
// Agent for pong, Reason for error.
type Message struct {
	Type    Type
	Request Request
	Place   Place
	Done    Done
	// Agent is the agent's own version.
	Agent string
	// Reason says what was wrong with the line that an error answers.
	Reason string
}
