package sock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// DefaultPath is where the node agent listens.
const DefaultPath = "/run/evenkeel/agent.sock"

// dial needs no time: the socket does not block yet, so that a full queue is
// EAGAIN at once. It does for the reads that follow.
func dial(path string, _ time.Time) (Conn, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	err = os.NewSyscallError("connect", syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}))
	if err == nil {
		err = checkServer(fd, os.Geteuid())
	}
	if err == nil {
		err = os.NewSyscallError("fcntl", syscall.SetNonblock(fd, false))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dialing %s: %w", path, err), syscall.Close(fd))
	}
	return &conn{fd: fd}, nil
}

// checkServer asks the kernel who made the listening socket. Root passes, and
// so does the caller's own account euid, which could not gain anything.
func checkServer(fd, euid int) error {
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return fmt.Errorf("reading the server's credentials: %w", err)
	}
	if cred.Uid != 0 && int(cred.Uid) != euid {
		return fmt.Errorf("%w: it runs as uid %d", ErrUnprivileged, cred.Uid)
	}
	return nil
}

// busy reports a full queue of connections not yet accepted.
func busy(err error) bool { return errors.Is(err, syscall.EAGAIN) }
