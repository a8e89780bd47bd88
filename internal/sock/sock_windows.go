package sock

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// DefaultPath is where the node agent listens.
const DefaultPath = `\\.\pipe\evenkeel`

func dial(path string, until time.Time) (Conn, error) {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	conn, err := winio.DialPipeContext(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := checkServer(conn); err != nil {
		return nil, errors.Join(fmt.Errorf("dialing %s: %w", path, err), conn.Close())
	}
	return conn, nil
}

// checkServer looks at the owner of the pipe, which is an account of the
// process that created it and cannot be set to a stranger's. Unlike the
// server's process id it cannot be reused by somebody else in between.
func checkServer(conn Conn) error {
	pipe, ok := conn.(interface{ Fd() uintptr })
	if !ok {
		return fmt.Errorf("reading the server's account: connection %T has no handle", conn)
	}
	sd, err := windows.GetSecurityInfo(windows.Handle(pipe.Fd()), windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("reading the server's account: %w", err)
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return fmt.Errorf("reading the server's account: %w", err)
	}
	if owner.IsWellKnown(windows.WinLocalSystemSid) || owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) || ownedByUs(owner) {
		return nil
	}
	return fmt.Errorf("%w: it runs as %s", ErrUnprivileged, owner)
}

// ownedByUs reports whether owner is what our own process would own things as,
// so that trusting it gives nothing away.
func ownedByUs(owner *windows.SID) bool {
	token := windows.GetCurrentProcessToken()
	if user, err := token.GetTokenUser(); err == nil && owner.Equals(user.User.Sid) {
		return true
	}
	// A TOKEN_OWNER is a pointer to a SID that lies behind it; no SID has more than 68 bytes.
	var buf [16]uintptr
	var n uint32
	err := windows.GetTokenInformation(token, windows.TokenOwner, (*byte)(unsafe.Pointer(&buf)), uint32(unsafe.Sizeof(buf)), &n)
	return err == nil && owner.Equals(*(**windows.SID)(unsafe.Pointer(&buf)))
}

// busy is false: go-winio itself waits while every instance of the pipe is taken.
func busy(error) bool { return false }
