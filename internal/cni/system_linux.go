package cni

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
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
	b, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0, err
	}
	first, _, _ := bytes.Cut(b, []byte(" "))
	s, err := strconv.ParseFloat(string(first), 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/uptime: %w", err)
	}
	return time.Duration(s * float64(time.Second)), nil
}

// process is the Exec of this process.
type process struct{}

// Replace implements Exec by execve: same process, nothing left of us.
func (process) Replace(path, depth string) error {
	return os.NewSyscallError("execve", syscall.Exec(path, os.Args, environ(depth)))
}

// environ is our environment with the guard set and nothing else touched, not
// even what a variable that occurs twice means.
func environ(depth string) []string {
	guard := GuardVariable + "=" + depth
	var env []string
	found := false
	for _, v := range os.Environ() {
		if len(v) > len(GuardVariable) && v[:len(GuardVariable)+1] == GuardVariable+"=" {
			if found {
				continue
			}
			v, found = guard, true
		}
		env = append(env, v)
	}
	if !found {
		env = append(env, guard)
	}
	return env
}

// Run implements Exec. The kernel kills the original when the thread that
// started it ends, which is this one, locked, and so when the process ends.
func (process) Run(path, depth string) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess(path, os.Args, &os.ProcAttr{
		Env:   environ(depth),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, err
	}
	state, err := p.Wait()
	if err != nil {
		// It runs, and how it ends will stay unknown: not a success.
		return exitFailure, nil
	}
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// writerAtWork reports that the file is still open for writing.
func writerAtWork(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// tryLock locks the file at path until it is closed or the process ends. The
// original does not inherit it: Go opens files close-on-exec.
func tryLock(path string) (io.Closer, error) {
	f, err := openToLock(path)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errHeld
	}
	return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
}
