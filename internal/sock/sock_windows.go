package sock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"unsafe"

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
	if err != nil {
		return nil, err
	}
	occupyFirstInstance(path)
	return l, nil
}

// occupyFirstInstance connects once to the instance by which go-winio holds
// the name and hangs up. Windows keeps clients out of that instance, so this
// fails there at once; Wine lets the first client in, who would then wait for
// a server that never comes.
func occupyFirstInstance(path string) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err == nil {
		_ = windows.CloseHandle(h)
	}
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
