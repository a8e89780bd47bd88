package cni

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// errHeld is wrapped by tryLock when somebody else has the lock.
var errHeld = errors.New("somebody else holds the lock")

const (
	lockPrefix  = "lock-"
	overdueLock = lockPrefix + "overdue"
)

// lockQueue limits how many originals run at once by locks on files in dir,
// which the system releases when their holder ends.
type lockQueue struct {
	dir   string
	limit int
	last  string // the file to lock where dir cannot hold any
}

// noLock stands for the right to run where nothing can be locked.
type noLock struct{}

func (noLock) Close() error { return nil }

// try takes a lock if it is the turn of somebody with so many ahead of him.
// Only the first few try, which keeps the order; the overdue may take the lock
// kept for them whatever their place.
func (q *lockQueue) try(ahead int, overdue bool) (io.Closer, bool) {
	var usable bool
	if ahead < q.limit {
		for i := range q.limit {
			lock, err := q.tryFile(lockPrefix + strconv.Itoa(i))
			if err == nil {
				return lock, true
			}
			usable = usable || errors.Is(err, errHeld)
		}
		if !usable {
			return q.tryLast()
		}
	}
	if overdue {
		if lock, err := q.tryFile(overdueLock); err == nil {
			return lock, true
		}
	}
	return nil, false
}

// tryFile locks a file of dir, making both where they are missing.
func (q *lockQueue) tryFile(name string) (*os.File, error) {
	path := filepath.Join(q.dir, name)
	f, err := openToLock(path)
	if errors.Is(err, os.ErrNotExist) && makeFolder(q.dir) == nil {
		f, err = openToLock(path)
	}
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		return nil, err
	}
	return f, nil
}

// tryLast locks the original itself: one at a time is a limit that needs no
// file of ours. Without even that the node must still start pods.
func (q *lockQueue) tryLast() (io.Closer, bool) {
	// Only to read: a program that is open for writing cannot be run.
	f, err := os.Open(q.last)
	if err != nil {
		return noLock{}, true
	}
	err = tryLock(f)
	switch {
	case err == nil:
		return f, true
	case errors.Is(err, errHeld):
		return nil, false
	default:
		return noLock{}, true
	}
}

// refusedFile was last touched when somebody was last refused without an agent.
const refusedFile = "refused"

// mayRefuse reports whether the last refusal is at least gap ago, and then notes
// that there is one now. Without a gap, or where files cannot be used, there may
// always be one.
func (q *lockQueue) mayRefuse(now time.Time, gap time.Duration) bool {
	f, err := q.tryFile(refusedFile)
	if err != nil {
		return gap <= 0 || !errors.Is(err, errHeld)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil {
		// A clock that was set back by more than that must not make anybody wait for the future.
		if now.Sub(info.ModTime()).Abs() < gap {
			return false
		}
	}
	_ = os.Chtimes(f.Name(), now, now)
	return true
}

// tryLock locks f until it is closed or this process ends, or closes it and
// fails, with errHeld if somebody else has the lock. The original does not
// inherit the lock, since Go opens files for this process alone.
func tryLock(f *os.File) error {
	err := lockNow(f)
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("locking %s: %w", f.Name(), err), f.Close())
}

// openToLock opens path for locking: made if missing, or read-only as the last
// resort, since a lock needs no more.
func openToLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	return os.Open(path)
}

// CountHeldLocks counts the originals of originalDir that were let through by
// locks and still run. An agent that starts must count them as starting. A
// folder that does not exist has none.
func CountHeldLocks(originalDir string) (int, error) {
	files, err := lockedFiles(stateDir(originalDir), func(name string) bool { return strings.HasPrefix(name, lockPrefix) })
	open := openToLock
	if err != nil || len(files) == 0 {
		// Where our files cannot be made, an original is the lock itself.
		files, err = lockedFiles(originalDir, func(string) bool { return true })
		open = os.Open
	}
	if err != nil {
		return 0, err
	}
	held := 0
	for _, path := range files {
		f, err := open(path)
		if err != nil {
			return 0, err
		}
		switch err := tryLock(f); {
		case errors.Is(err, errHeld):
			held++
		case err != nil:
			return 0, err
		default:
			_ = f.Close()
		}
	}
	return held, nil
}

// lockedFiles lists the files of dir whose names are wanted; a folder that does
// not exist has none.
func lockedFiles(dir string, wanted func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() && wanted(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}
