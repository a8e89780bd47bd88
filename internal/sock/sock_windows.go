package sock

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// DefaultPath is where the node agent listens.
const DefaultPath = `\\.\pipe\evenkeel`

// securityDescriptor lets SYSTEM and the Administrators use the pipe and
// nobody else, inherited entries included.
const securityDescriptor = "D:P(A;;GA;;;SY)(A;;GA;;;BA)"

// bufferSize is above the longest line of the protocol, so that writing one
// never waits for the other side to read.
const bufferSize = 16 << 10

func listen(path string) (net.Listener, error) {
	// go-winio creates the first instance exclusively and rejects remote clients.
	l, err := winio.ListenPipe(path, &winio.PipeConfig{
		SecurityDescriptor: securityDescriptor,
		InputBufferSize:    bufferSize,
		OutputBufferSize:   bufferSize,
	})
	if taken(err) {
		return nil, fmt.Errorf("%w: %w", ErrInUse, err)
	}
	return l, err
}

// taken reports the errors of creating a pipe that exists already; which one
// depends on the rights the other server left us.
func taken(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) ||
		errors.Is(err, windows.ERROR_ALREADY_EXISTS) ||
		errors.Is(err, windows.ERROR_PIPE_BUSY)
}

func dial(ctx context.Context, path string) (net.Conn, error) {
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
func checkServer(conn net.Conn) error {
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
	if owner.IsWellKnown(windows.WinLocalSystemSid) || owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) {
		return nil
	}
	if me, err := windows.GetCurrentProcessToken().GetTokenUser(); err == nil && owner.Equals(me.User.Sid) {
		return nil
	}
	return fmt.Errorf("%w: it runs as %s", ErrUnprivileged, owner)
}

// busy is false: go-winio itself waits while every instance of the pipe is taken.
func busy(error) bool { return false }
