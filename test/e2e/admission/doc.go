// Package admission holds no code, only tests: the bootstrap taint and what surrounds it, on a real control plane. Nodes register with
// a kubelet's certificate, agents act with tokens that are bound to their pods.
package admission
