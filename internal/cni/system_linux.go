package cni

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"evenkeel.dev/evenkeel/internal/sock"
)

const executableSuffix = ""

// System is this process on this machine.
func System() Host {
	return Host{
		Args: os.Args, Getenv: os.Getenv, Executable: os.Executable,
		Stdin: os.Stdin, Stdout: os.Stdout,
		Dial: sock.Dial, Exec: process{}, Uptime: uptime, CPUs: runtime.NumCPU(),
	}
}

// uptime is the time since boot, sleep included.
func uptime() (time.Duration, error) {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0, os.NewSyscallError("sysinfo", err)
	}
	return time.Duration(info.Uptime) * time.Second, nil
}

// process is the Exec of this process.
type process struct{}

// Replace implements Exec by execve: same process, nothing left of us.
func (process) Replace(path, depth string) error {
	return os.NewSyscallError("execve", syscall.Exec(path, os.Args, environ(depth)))
}

// environ is our environment with the guard set.
func environ(depth string) []string {
	if err := os.Setenv(GuardVariable, depth); err != nil {
		return append(os.Environ(), GuardVariable+"="+depth)
	}
	return os.Environ()
}

// Run implements Exec. The kernel kills the original when the thread that
// started it ends. That is when the process ends: Go ends no other thread than
// that of a goroutine which ends while locked to it (runtime.LockOSThread), and
// there is none.
func (process) Run(path, depth string) (int, error) {
	// Not os.StartProcess, whose first call costs a test of what the kernel can.
	pid, err := syscall.ForkExec(path, os.Args, &syscall.ProcAttr{
		Env:   environ(depth),
		Files: []uintptr{uintptr(syscall.Stdin), uintptr(syscall.Stdout), uintptr(syscall.Stderr)},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, &os.PathError{Op: "start", Path: path, Err: err}
	}
	var status syscall.WaitStatus
	err = syscall.EINTR
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(pid, &status, 0, nil)
	}
	switch {
	case err != nil:
		// It runs, and how it ends will stay unknown: not a success.
		return exitFailure, nil
	case status.Signaled():
		return 128 + int(status.Signal()), nil
	default:
		return status.ExitStatus(), nil
	}
}

// writerAtWork reports that the file is still open for writing.
func writerAtWork(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// beingRead is never the reason: a rename replaces open files.
func beingRead(error) bool { return false }

// lockNow locks f or fails at once.
func lockNow(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

// readFile reads a small file. It is os.ReadFile without setting up Go's poller,
// which that does even for files that need none.
func readFile(path string) ([]byte, error) {
	fd, err := unlessInterrupted(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }()
	b := make([]byte, 4096)
	for n := 0; ; {
		k, err := unlessInterrupted(func() (int, error) { return syscall.Read(fd, b[n:]) })
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n += k; n < len(b) { // a file gives all it has
			return b[:n], nil
		}
		b = append(b, b...)
	}
}

func unlessInterrupted(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
