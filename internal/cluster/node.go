package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeInfo is what a node is. It is immutable and may be shared between snapshots.
type NodeInfo struct {
	Name          string
	UID           string
	Labels        map[string]string
	Taints        []corev1.Taint
	Unschedulable bool // cordoned
	// Ready follows the peer: every condition of type Ready must be True, and a node without one counts as ready.
	Ready       bool
	Capacity    Amounts
	Allocatable Amounts

	object *corev1.Node // name and labels only: what node affinity is matched against
}

// Object returns a Node that holds the name and labels, for matchers that want the API type.
// It must not be changed.
func (n *NodeInfo) Object() *corev1.Node { return n.object }

// Node is a node's place in one snapshot.
type Node struct {
	*NodeInfo
	Index int    // position in Snapshot.Nodes
	Pods  []*Pod // bound to it, terminal ones included, ordered by namespace and name
}

// Node converts an API object.
func (c *Converter) Node(n *corev1.Node) *NodeInfo {
	info := &NodeInfo{
		Name:          n.Name,
		UID:           string(n.UID),
		Labels:        c.labels(n.Labels),
		Taints:        n.Spec.Taints,
		Unschedulable: n.Spec.Unschedulable,
		Ready:         true,
		Capacity:      c.Resources.Amounts(n.Status.Capacity),
		Allocatable:   c.Resources.Amounts(n.Status.Allocatable),
		object:        &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}},
	}
	if len(n.Status.Allocatable) == 0 {
		info.Allocatable = info.Capacity
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue {
			info.Ready = false
		}
	}
	return info
}
