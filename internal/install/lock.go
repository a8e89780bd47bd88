package install

import (
	"fmt"
	"os"
	"time"
)

// How long to wait for another installer, and how often to look.
const (
	lockWait  = 20 * time.Second
	lockPause = 50 * time.Millisecond
)

// lock takes the installer's lock file, which the system releases when we die.
func lock(path string) (unlock func(), err error) {
	for deadline := time.Now().Add(lockWait); ; time.Sleep(lockPause) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open lock: %w", err)
		}
		got, err := tryLock(f)
		if got && stillAt(f, path) {
			return func() { f.Close() }, nil
		}
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another installer has held %s for %s", path, lockWait)
		}
	}
}

// stillAt reports whether f is the file that others find: an uninstaller removes
// the lock file at the end.
func stillAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	found, err := os.Stat(path)
	return err == nil && os.SameFile(mine, found)
}
