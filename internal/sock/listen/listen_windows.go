package listen

import (
	"errors"
	"fmt"
	"net"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// securityDescriptor lets SYSTEM and the Administrators use the pipe and
// nobody else, inherited entries included.
const securityDescriptor = "D:P(A;;GA;;;SY)(A;;GA;;;BA)"

// bufferSize is above the longest line of the protocol, so that writing one
// never waits for the other side to read.
const bufferSize = 16 << 10

// listener is a pipe's.
type listener struct{ net.Listener }

// lost is never the case: a pipe's name lasts as long as its server has it open,
// and nobody can take it away.
func (*listener) lost() error { return nil }

func listen(path string) (*listener, error) {
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
	return &listener{l}, nil
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
