package pace

import "time"

// Output is what an input made the queue decide. The caller answers every grant and refusal on its connection; events
// are for metrics, logs and Kubernetes Events. Slices are in the order of the decisions and belong to the caller. Slots
// end before others begin: a pod may be in Events with Released and, anew, in Grants.
type Output struct {
	Grants   []Grant
	Refusals []Refusal
	Events   []Event
}

// A Grant tells an attempt to run the original.
type Grant struct {
	ID              AttemptID
	UID             string
	Namespace, Name string
	Why             GrantReason
	// Waited is the time since the pod's first attempt that the queue knows of.
	Waited time.Duration
}

// A GrantReason says why an attempt may go ahead; it is also a metric label.
type GrantReason string

// The grant reasons.
const (
	FreeSlot GrantReason = "FreeSlot" // its turn, within every limit
	Reserved GrantReason = "Reserved" // the slot kept for it while it was away, within every limit
	Urgent   GrantReason = "Urgent"   // ClassUrgent
	Ungated  GrantReason = "Ungated"  // ClassUngated, or no pod named
	SamePod  GrantReason = "SamePod"  // its pod already holds a slot
)

// A Refusal tells an attempt to try again later.
type Refusal struct {
	ID              AttemptID
	UID             string
	Namespace, Name string
	Reason          RefusalReason
	// Rank counts from 1, of Waiting pods in the queue (present or between two attempts); 0 when it has none.
	Rank, Waiting int
	// Starting pods (lock holders included) and the Limit at that moment.
	Starting, Limit int
	// Waited is the time since the pod's first attempt that the queue knows of.
	Waited time.Duration
}

// A RefusalReason says why an attempt must try again later; it is also a metric label.
type RefusalReason string

// The refusal reasons. After the first three, the pod keeps its rank.
const (
	Deadline       RefusalReason = "Deadline"       // it has waited as long as one attempt may
	Budget         RefusalReason = "Budget"         // too little of the runtime's deadline is left for the plugin
	Maintenance    RefusalReason = "Maintenance"    // the plugin's file is being replaced
	Unacknowledged RefusalReason = "Unacknowledged" // granted, but the peer never said it got that
	Superseded     RefusalReason = "Superseded"     // a newer attempt of the pod took its place
	Overloaded     RefusalReason = "Overloaded"     // the queue is full
	Deleted        RefusalReason = "Deleted"        // the pod no longer exists
)

// An Event is something worth telling.
type Event struct {
	Kind            EventKind
	UID             string
	Namespace, Name string
	// Why is the release reason of a Released event.
	Why ReleaseReason
	// For is how long: the slot was held, the pod has waited, the pod was away.
	For time.Duration
}

// An EventKind names what happened.
type EventKind string

// The event kinds.
const (
	Released         EventKind = "Released"         // a slot ended; exactly once for every slot
	HeldLong         EventKind = "HeldLong"         // a pod has waited maxWait and goes to the head; once per wait
	Dropped          EventKind = "Dropped"          // a waiting pod was forgotten: deleted, or away for two minutes
	SlotKept         EventKind = "SlotKept"         // a slot waits for a pod that was passed over three times
	MaintenanceEnded EventKind = "MaintenanceEnded" // maintenance was never switched off and ended by itself
)

// A ReleaseReason says why a slot ended; it is also a metric label. The caller's own reasons come from the pod's status.
type ReleaseReason string

// The release reasons that the queue itself gives.
const (
	Expired         ReleaseReason = "Expired"         // held for slotTimeout
	PluginFailed    ReleaseReason = "PluginFailed"    // the original failed; the pod queues at the back
	HungUp          ReleaseReason = "HungUp"          // the peer vanished after acknowledging and did not come back
	NotAcknowledged ReleaseReason = "NotAcknowledged" // the grant never reached the peer; the pod keeps its rank
	PodGone         ReleaseReason = "PodGone"         // the pod was deleted
	StillWaiting    ReleaseReason = "StillWaiting"    // after a restart: thought to be starting, but it asks for its turn
)
