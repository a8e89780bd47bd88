// Package node holds the recipe of a real node, the kubelet and containerd in
// namespaces of their own, and tests that it behaves as one. Package harness
// starts it for tests.
package node
