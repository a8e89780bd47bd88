//go:build unix

package install

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// inUse is never true here: a rename replaces running files.
func inUse(error) bool { return false }

// patiently has nothing to wait for here: that a file is open keeps nobody from
// renaming or removing it.
func patiently(try func() error) error { return try() }

// syncDir makes renames in a folder survive a power cut.
func syncDir(path string) error {
	d, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // file systems that cannot
		return fmt.Errorf("flush folder %s: %w", path, err)
	}
	return nil
}

// tryLock takes the lock file without waiting.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
