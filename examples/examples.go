// Package examples holds policies and snapshots to try things with. Every one is run by a test.
package examples

import _ "embed"

// EvenReplicas is the policy that is used where none is named.
//
//go:embed policies/even-replicas.yaml
var EvenReplicas string
