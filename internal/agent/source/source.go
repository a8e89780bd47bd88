// Package source tells the agent about the pods of its node: from the Kubernetes
// API, or from a folder of pod files where there is no Kubernetes.
package source

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// A Kind says what a Change is.
type Kind string

// The kinds of changes.
const (
	Seen    Kind = "seen"    // Pod is new or changed
	Gone    Kind = "gone"    // Pod does not exist any more; it is as last known
	Synced  Kind = "synced"  // every pod that existed at the start has been seen; once
	Trouble Kind = "trouble" // Err: what is known may be old
	Fine    Kind = "fine"    // what is known is up to date again
)

// Change is one thing to know. Pods belong to the source and must not be changed.
type Change struct {
	Kind Kind
	Pod  *corev1.Pod
	Err  error
}

// A Source reports the pods of one node until ctx ends, and returns the cause only
// if it can never work. Changes of pods come one at a time, in order, and a pod
// that is replaced by one of the same name is reported gone first; Trouble and
// Fine may come from another goroutine meanwhile.
type Source interface {
	Run(ctx context.Context, tell func(Change)) error
}
