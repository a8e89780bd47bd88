// Package listen is the node agent's end of package sock: who may connect is
// decided here.
//
// At most one listener serves a path at a time. On waits for an old agent to
// leave until its context ends, so a successor may be started first.
package listen

import (
	"context"
	"errors"
	"net"
	"time"
)

// ErrInUse is wrapped by On when another server still held the path at the end
// of the context.
var ErrInUse = errors.New("another server holds the address")

// retryEvery is the pause between attempts at an address that is taken.
const retryEvery = 10 * time.Millisecond

// On serves path, sock.DefaultPath in production: a unix socket with mode 0600
// in a folder with mode 0700, or a pipe open to SYSTEM and Administrators alone
// that rejects remote clients. It retries while another server holds the path
// and fails with ErrInUse once ctx ends. Closing the listener frees the path for
// a successor; connections stay open.
func On(ctx context.Context, path string) (net.Listener, error) {
	l, err := on(ctx, path)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func on(ctx context.Context, path string) (*listener, error) {
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
