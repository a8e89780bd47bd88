// Package sock is the way of the CNI executable to the node agent: a unix
// socket on Linux, a named pipe on Windows. Package listen below it is the
// other end.
//
// Only privileged processes pass, in both directions. The listener is made so
// that nobody else can connect, and Dial hands out no connection before the
// server has proved to be privileged: an unprivileged process that took the
// address while the agent was away must never be able to hold up, or wave
// through, the start of pods.
//
// The package is apart from listen to keep package net, and with it a tenth of
// its start-up time, out of an executable that is started for every pod.
package sock

import (
	"errors"
	"io"
	"time"
)

// ErrUnprivileged is wrapped by Dial when the server runs as an account that
// could not have been the node agent. Callers treat it as "no agent".
var ErrUnprivileged = errors.New("the server is not privileged")

// Conn is a connection to the agent. One goroutine may read, and set its
// deadlines, while others write and close. Closing it ends a read that waits.
type Conn interface {
	io.ReadWriteCloser
	// SetReadDeadline bounds the reads that begin after it, which may end somewhat
	// later but not sooner; zero is no bound. Their errors say Timeout() then.
	SetReadDeadline(time.Time) error
}

// retryEvery is the pause between attempts at a server too busy to accept.
const retryEvery = 10 * time.Millisecond

// Dial connects to the server at path and checks that it is privileged. It
// fails at once when nobody listens; while the server is too busy to accept it
// retries until then. Closing the connection tells the server that the
// caller gave up, and so does the end of the calling process.
func Dial(path string, until time.Time) (Conn, error) {
	for {
		conn, err := dial(path, until)
		if err == nil || !busy(err) || !time.Now().Before(until) {
			return conn, err
		}
		time.Sleep(retryEvery)
	}
}
