// Package agent is the node agent: it installs the stand-in, lets pods start at
// the pace that internal/pace decides, and tells people what is going on.
//
// # One owner
//
// A single goroutine, Run of the type loop, owns the queue and everything that
// belongs to it: the connected executables, what is known of the pods, the slots'
// watchers. Connections, the pod source, the file watchers and the HTTP handlers
// hand it functions, one at a time, and it hands back answers. One timer wakes
// it for whatever becomes due next; when no pod waits or starts there is none.
//
// # What must never happen
//
// A pod that waits because of us longer than it would without us for a reason of
// ours: no failure of the API server, of the configuration file, of the disk or
// of an event recorder reaches the loop as anything but a line in its status.
package agent
