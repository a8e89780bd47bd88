// Package sock is the one door between the CNI executable and the node agent:
// a unix socket on Linux, a named pipe on Windows, behind the same two calls.
//
// Only privileged processes pass it, in both directions. The listener is made
// so that nobody else can connect (socket 0600 in a folder 0700; pipe open to
// SYSTEM and Administrators alone, remote clients rejected), and Dial hands out
// no connection before the server has proved to be privileged: an unprivileged
// process that took the address while the agent was away must never be able to
// hold up, or wave through, the start of pods.
//
// At most one listener serves a path at a time. Listen waits for an old agent
// to leave until its context ends, so a successor may be started first.
package sock

import (
	"context"
	"errors"
	"net"
	"time"
)

// ErrUnprivileged is wrapped by Dial when the server runs as an account that
// could not have been the node agent. Callers treat it as "no agent".
var ErrUnprivileged = errors.New("the server is not privileged")

// ErrInUse is wrapped by Listen when another server still held the path at the
// end of the context.
var ErrInUse = errors.New("another server holds the address")

// retryEvery is the pause between attempts at an address that is taken or
// whose server is too busy to accept.
const retryEvery = 10 * time.Millisecond

// Listen serves path, DefaultPath in production. It retries while another
// server holds the path and fails with ErrInUse once ctx ends. Closing the
// listener frees the path for a successor; connections stay open.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	for {
		l, err := listen(path)
		if !errors.Is(err, ErrInUse) {
			return l, err
		}
		if !pause(ctx) {
			return nil, err
		}
	}
}

// Dial connects to the server at path and checks that it is privileged. It
// fails at once when nobody listens; while the server is too busy to accept it
// retries until ctx ends. Closing the connection tells the server that the
// caller gave up, and so does the end of the calling process.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	for {
		conn, err := dial(ctx, path)
		if err == nil || !busy(err) {
			return conn, err
		}
		if !pause(ctx) {
			return nil, err
		}
	}
}

// pause waits for retryEvery and reports whether ctx is still alive.
func pause(ctx context.Context) bool {
	t := time.NewTimer(retryEvery)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
