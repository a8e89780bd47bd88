// Package cluster is the picture of a cluster that every decision is made from.
//
// A [Snapshot] is immutable plain data: nodes, pods, budgets, workloads, volumes,
// usage and the time it was taken. It holds only what decisions need, in a compact form: what
// the replicas of a workload have in common (labels, owners, [Spec]) is stored once and shared,
// so 150,000 pods fit in a few hundred bytes each, and two pods whose Spec pointers are equal have equal specs.
//
// A [View] is a snapshot less the pods that have been chosen to move: what a later
// decision of the same cycle sees.
//
// The package does no I/O and reads no clock. A [Converter] turns API objects into the compact
// form; [Parts.Snapshot] assembles and orders them, so that the same objects in any order give the same snapshot.
package cluster
