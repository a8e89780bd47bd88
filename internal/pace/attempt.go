package pace

import "time"

// An AttemptID names one connection of one executable. The caller chooses it and never uses it twice.
type AttemptID uint64

// A Class says how a pod is treated.
type Class uint8

const (
	// ClassUnknown is a pod the caller knows nothing about yet. It waits up to two seconds for [Queue.Classify], then
	// counts as ordinary with priority 0.
	ClassUnknown Class = iota
	// ClassOrdinary pods wait their turn and count.
	ClassOrdinary
	// ClassUrgent pods never wait but count: static, host network, DaemonSet and node-critical pods.
	ClassUrgent
	// ClassUngated pods neither wait nor count: excluded namespaces and pods whose owner asked for it.
	ClassUngated
)

// String is the class in lower case.
func (c Class) String() string {
	switch c {
	case ClassOrdinary:
		return "ordinary"
	case ClassUrgent:
		return "urgent"
	case ClassUngated:
		return "ungated"
	}
	return "unknown"
}

// Info is what the caller knows about a pod.
type Info struct {
	Class Class
	// Why says what put it in its class ("DaemonSet"), for status only.
	Why string
	// Priority is spec.priority; higher starts earlier.
	Priority int32
}

// An Attempt is one ADD that asks to go ahead. All times are durations from the moment of the call, so no two clocks
// need agree.
type Attempt struct {
	ID AttemptID
	// UID of the pod; what slots and ranks are keyed by. Without one the namespace and name are used.
	UID string
	// Namespace and Name are for people.
	Namespace, Name string
	Info            Info
	// Sandbox (the CNI container ID) and Network tell the second network of a pod from a new try: an attempt for
	// another sandbox, or the same network of the same one, takes the place of the pod's older attempts.
	Sandbox, Network string
	// Wait is how long the peer wants to wait at most; zero, or more than Config.Attempt, means Config.Attempt.
	Wait time.Duration
	// Spent is how much of Config.RuntimeBudget, the runtime's own deadline for this ADD, was gone when it asked: more
	// than nothing on a new connection of an old attempt.
	Spent time.Duration
	// Waited is how long the pod says it has been waiting in earlier attempts, or before this agent started. It counts
	// only when the queue does not know the pod.
	Waited time.Duration
}

// key is what the pod is known by.
func (a Attempt) key() string {
	if a.UID != "" {
		return a.UID
	}
	if a.Namespace == "" && a.Name == "" {
		return ""
	}
	return a.Namespace + "/" + a.Name
}

type attemptState uint8

const (
	asking  attemptState = iota // waits for an answer
	granted                     // told to go, not acknowledged
	running                     // acknowledged: the original runs
)

// attempt is an Attempt inside the queue, from Request until it is refused, done or cancelled.
type attempt struct {
	id               AttemptID
	pod              *pod
	sandbox, network string
	state            attemptState

	since     instant       // of this attempt
	latest    instant       // answered by then
	budgetEnd instant       // the runtime gives up then
	expiry    RefusalReason // why it is refused at the end of its wait
	doom      RefusalReason // why it will be refused before that

	slot  *slot   // once granted; nil for the ungated and after the slot's end
	ackBy instant // while granted
}

// due is the instant at which an attempt at this rank, of n waiting pods, is told to try again later: the head at the
// end of its wait, the last after the first three tenths of it.
func (a *attempt) due(rank, n int) instant {
	if a.doom != "" || n == 0 {
		return a.since
	}
	spread := (a.latest - a.since) * 7 / 10
	return a.latest - spread*instant(rank)/instant(n)
}
