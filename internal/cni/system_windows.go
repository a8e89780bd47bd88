package cni

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"evenkeel.dev/evenkeel/internal/sock"
)

const executableSuffix = ".exe"

// System is this process on this machine.
func System() Host {
	return Host{
		Args: os.Args, Getenv: os.Getenv, Executable: os.Executable,
		Stdin: os.Stdin, Stdout: os.Stdout,
		Dial: sock.Dial, Exec: process{}, Uptime: uptime, CPUs: runtime.NumCPU(),
	}
}

func uptime() (time.Duration, error) { return windows.DurationSinceBoot(), nil }

// process is the Exec of this process.
type process struct{}

// Replace implements Exec: Windows cannot.
func (process) Replace(string, string) error { return errors.ErrUnsupported }

// Run implements Exec. The original gets our command line as it is, our
// environment block, and every handle that we inherited, so its streams are the
// caller's own; a job takes it along when we are killed.
func (process) Run(path, depth string) (int, error) {
	if err := os.Setenv(GuardVariable, depth); err != nil {
		return 0, err
	}
	child, err := start(path)
	if err != nil {
		return 0, &os.PathError{Op: "start", Path: path, Err: err}
	}
	defer func() { _ = windows.CloseHandle(child) }()
	var code uint32
	_, err = windows.WaitForSingleObject(child, windows.INFINITE)
	if err == nil {
		err = windows.GetExitCodeProcess(child, &code)
	}
	if err != nil {
		// It runs, and how it ends will stay unknown: not a success.
		return exitFailure, nil
	}
	return int(code), nil
}

// start starts path in a job that ends with this process: its handle is never
// closed by hand. Where the system allows no such job the original runs without
// one, since a pod that starts is worth more than a tidy end.
func start(path string) (windows.Handle, error) {
	if job, err := killWithUs(); err == nil {
		child, err := createProcess(path, job)
		if err == nil || beingReplaced(err) {
			return child, err
		}
	}
	return createProcess(path, 0)
}

// killWithUs makes a job whose one process is killed when its last handle,
// ours, is closed. What that process starts is not in the job: azure-vnet's
// telemetry process must outlive it.
func killWithUs() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("making a job: %w", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		return 0, errors.Join(fmt.Errorf("setting the limits of a job: %w", err), windows.CloseHandle(job))
	}
	return job, nil
}

// procThreadAttributeJobList is PROC_THREAD_ATTRIBUTE_JOB_LIST of winbase.h,
// which x/sys/windows lacks.
const procThreadAttributeJobList = 0x0002000d

// createProcess starts path, inside job if there is one: not a moment passes
// in which killing us would leave it behind.
func createProcess(path string, job windows.Handle) (windows.Handle, error) {
	attributes, err := windows.NewProcThreadAttributeList(1)
	if err != nil {
		return 0, err
	}
	defer attributes.Delete()
	if job != 0 {
		if err := attributes.Update(procThreadAttributeJobList, unsafe.Pointer(&job), unsafe.Sizeof(job)); err != nil {
			return 0, err
		}
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	si := windows.StartupInfoEx{ProcThreadAttributeList: attributes.List()}
	si.Cb = uint32(unsafe.Sizeof(si))
	si.Flags = windows.STARTF_USESTDHANDLES
	for _, std := range []struct {
		id uint32
		to *windows.Handle
	}{
		{windows.STD_INPUT_HANDLE, &si.StdInput}, {windows.STD_OUTPUT_HANDLE, &si.StdOutput}, {windows.STD_ERROR_HANDLE, &si.StdErr},
	} {
		// A caller may leave one out; the original then lacks it too.
		if *std.to, err = windows.GetStdHandle(std.id); err != nil {
			*std.to = 0
			continue
		}
		// What we inherited can be inherited on; anything else is made to.
		_ = windows.SetHandleInformation(*std.to, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT)
	}
	var pi windows.ProcessInformation
	err = windows.CreateProcess(name, commandLine(), nil, nil, true, windows.EXTENDED_STARTUPINFO_PRESENT, nil, nil, &si.StartupInfo, &pi)
	if err != nil {
		return 0, err
	}
	return pi.Process, windows.CloseHandle(pi.Thread)
}

// commandLine is a copy of ours, to the last unit, which CreateProcess may
// write to.
func commandLine() *uint16 {
	first := windows.GetCommandLine()
	n := 0
	for p := first; *p != 0; n++ {
		p = (*uint16)(unsafe.Add(unsafe.Pointer(p), unsafe.Sizeof(*p)))
	}
	return unsafe.SliceData(slices.Clone(unsafe.Slice(first, n+1)))
}

// writerAtWork reports that the file is still open for writing, or locked by
// whoever renames it.
func writerAtWork(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// beingRead reports that the file to be replaced is open.
func beingRead(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || writerAtWork(err)
}

// lockNow locks f or fails at once. The locked byte lies where no file has
// any, so that reading and running f is never in the way.
func lockNow(f *os.File) error {
	const farAway = 1 << 30 // times 4 GiB
	at := windows.Overlapped{OffsetHigh: farAway}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errHeld
	}
	return err
}

// readFile reads a small file.
func readFile(path string) ([]byte, error) { return os.ReadFile(path) }
