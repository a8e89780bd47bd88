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
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for deadline := time.Now().Add(lockWait); ; time.Sleep(lockPause) {
		got, err := tryLock(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if got {
			return func() { f.Close() }, nil
		}
		if time.Now().After(deadline) {
			f.Close()
			return nil, fmt.Errorf("another installer has held %s for %s", path, lockWait)
		}
	}
}
