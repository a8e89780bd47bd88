package install

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// How long a change waits for a virus scanner or indexer to let go of a file.
const (
	scannerTime  = 3 * time.Second
	scannerPause = 5 * time.Millisecond
)

// inUse recognises the refusal to replace a file that runs or is open.
func inUse(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) ||
		errors.Is(err, windows.ERROR_SHARING_VIOLATION) ||
		errors.Is(err, windows.ERROR_USER_MAPPED_FILE)
}

// patiently repeats try while somebody has the file open in a way that does not
// allow it and that does not last. Running files are not that: they are refused
// with ERROR_ACCESS_DENIED.
func patiently(try func() error) error {
	for deadline := time.Now().Add(scannerTime); ; time.Sleep(scannerPause) {
		err := try()
		if !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_LOCK_VIOLATION) &&
			!errors.Is(err, windows.ERROR_DELETE_PENDING) || time.Now().After(deadline) {
			return err
		}
	}
}

// syncDir has nothing to do: folders cannot be flushed, and NTFS logs renames in order.
func syncDir(string) error { return nil }

// tryLock takes the lock file without waiting.
func tryLock(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}
