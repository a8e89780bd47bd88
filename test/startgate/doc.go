// Package startgate runs the start gate on a real node: kubelet, containerd, the
// bridge plugin, the stand-in in its place and the agent, with the rights that
// its manifest gives it, against a real API server.
package startgate
