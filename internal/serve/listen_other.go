//go:build !linux

package serve

import (
	"errors"
	"syscall"
)

// control refuses what only Linux is asked for.
func (o *Options) control(_, _ string, _ syscall.RawConn) error {
	if o.PermitPortSharing || o.PermitAddressSharing {
		return errors.New("--permit-port-sharing and --permit-address-sharing are for Linux")
	}
	return nil
}
