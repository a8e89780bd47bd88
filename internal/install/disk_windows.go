package install

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// How long a move waits for a virus scanner or indexer to let go of a file.
const (
	moveRetry = 3 * time.Second
	movePause = 5 * time.Millisecond
)

// inUse recognises the refusal to replace a file that runs or is open.
func inUse(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) ||
		errors.Is(err, windows.ERROR_SHARING_VIOLATION) ||
		errors.Is(err, windows.ERROR_USER_MAPPED_FILE)
}

func renamePatiently(s Step) error {
	deadline := time.Now().Add(moveRetry)
	for {
		err := os.Rename(s.From, s.To)
		if err == nil || s.Op == Replace || !errors.Is(err, windows.ERROR_SHARING_VIOLATION) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(movePause)
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
