package listen

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// lockSuffix names the file beside the socket whose lock says "this path is
// served". A bound socket alone cannot say so: it outlives its server.
const lockSuffix = ".lock"

func listen(path string) (*listener, error) {
	if err := ownFolder(filepath.Dir(path), filepath.Base(path)); err != nil {
		return nil, err
	}
	lock, err := lockFile(path + lockSuffix)
	if err != nil {
		return nil, err
	}
	l, err := bind(path)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	l.lock = lock
	return l, nil
}

// bind makes the socket, in the place of one left behind by a dead server: the
// caller holds the lock, so no living one has it.
func bind(path string) (*listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing the socket of an earlier server: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // which would not look whose socket it is by then
	// The folder keeps others out until the mode is set.
	err = os.Chmod(path, 0o600)
	var file os.FileInfo
	if err == nil {
		file, err = os.Lstat(path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &listener{Listener: l, path: path, file: file}, nil
}

// ownFolder makes dir with mode 0700, or tightens it when it holds nothing but
// our files: kubelet makes a missing hostPath folder with mode 0755.
func ownFolder(dir, base string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != base && e.Name() != base+lockSuffix {
			return fmt.Errorf("folder %s has mode %#o and holds %s: the socket needs a folder of its own with mode 0700",
				dir, info.Mode().Perm(), e.Name())
		}
	}
	return os.Chmod(dir, 0o700)
}

// lockFile opens path and locks it for as long as the file stays open.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrInUse
	}
	return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
}

// listener gives the path back when it is closed: first the socket goes, then
// the lock, so a successor never has its own socket removed.
type listener struct {
	net.Listener
	path string
	file os.FileInfo // of the socket that we made
	lock *os.File
	once sync.Once
	err  error
}

// Close implements net.Listener; a second call does nothing.
func (l *listener) Close() error {
	l.once.Do(func() {
		if l.lost() == nil {
			l.err = os.Remove(l.path)
		}
		l.err = errors.Join(l.err, l.Listener.Close(), l.lock.Close())
	})
	return l.err
}

// lost says why the path does not lead here any more, if that is so: the lock
// keeps nobody from removing files.
func (l *listener) lost() error {
	file, err := os.Lstat(l.path)
	switch {
	case err != nil:
		return fmt.Errorf("the socket was removed: %w", err)
	case !os.SameFile(file, l.file):
		return fmt.Errorf("the socket was removed: another one is at %s", l.path)
	}
	return nil
}
