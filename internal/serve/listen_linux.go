package serve

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// control sets the sharing options of a socket before it is bound.
func (o *Options) control(_, _ string, conn syscall.RawConn) error {
	if !o.PermitPortSharing && !o.PermitAddressSharing {
		return nil
	}
	var failed error
	set := func(fd uintptr) {
		if o.PermitPortSharing {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}
		if o.PermitAddressSharing {
			failed = errors.Join(failed, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
		}
	}
	return errors.Join(conn.Control(set), failed)
}
