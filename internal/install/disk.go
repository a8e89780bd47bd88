package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk is the Doer for real folders.
type Disk struct{}

// Do carries out one primitive step. Errors name the step and the path.
func (Disk) Do(s Step) error {
	if err := do(s); err != nil {
		return fmt.Errorf("%s %s: %w", s.Op, s.To, err)
	}
	return nil
}

func do(s Step) error {
	switch s.Op {
	case Mkdir:
		return mkdir(s.To)
	case Write:
		return write(s.To, 0o600, s.copyData)
	case Copy:
		return copyFile(s)
	case Save:
		return save(s)
	case Check:
		return check(s)
	case Replace, Move:
		return rename(s)
	case Remove:
		return remove(s.To)
	case Clear:
		return clearBut(s.To, s.From)
	default:
		return fmt.Errorf("unknown step %q", s.Op)
	}
}

func clearBut(folder, kept string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		switch path := filepath.Join(folder, e.Name()); {
		case path == kept:
		case e.IsDir() && path == filepath.Dir(kept):
			errs = append(errs, clearBut(path, kept))
		default:
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

func mkdir(path string) error {
	err := os.Mkdir(path, 0o755)
	if errors.Is(err, fs.ErrExist) {
		info, statErr := os.Lstat(path)
		if statErr == nil && !info.IsDir() {
			return fmt.Errorf("it exists and is not a folder: %s", info.Mode().Type())
		}
		return statErr
	}
	return err
}

func remove(path string) error {
	return ignoreAbsent(patiently(func() error { return os.Remove(path) }))
}

func (s Step) copyData(w io.Writer) error {
	_, err := w.Write(s.Data)
	return err
}

func copyFile(s Step) error {
	src, err := os.Open(s.From)
	if err != nil {
		return err
	}
	defer src.Close()
	return write(s.To, 0o755, func(w io.Writer) error {
		sum := sha256.New()
		if _, err := io.Copy(io.MultiWriter(w, sum), src); err != nil {
			return err
		}
		if got := hex.EncodeToString(sum.Sum(nil)); s.SHA256 != "" && got != s.SHA256 {
			return fmt.Errorf("%s changed while it was copied", s.From)
		}
		return nil
	})
}

// write makes a new file, flushed to the disk, or none at all.
func write(path string, mode fs.FileMode, content func(io.Writer) error) (err error) {
	if err := remove(path); err != nil {
		return err
	}
	var f *os.File
	err = patiently(func() error {
		var err error
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = remove(path)
		}
	}()
	if err := content(f); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil { // whatever the umask took away
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func save(s Step) error {
	if err := remove(s.To); err != nil {
		return err
	}
	if s.Data != nil {
		return os.Symlink(string(s.Data), s.To)
	}
	if err := os.Link(s.From, s.To); err == nil {
		return syncDir(filepath.Dir(s.To))
	}
	return copyFile(s) // FAT, some network and stacked file systems
}

func check(s Step) error {
	if len(s.Data) > 0 {
		if text, err := os.Readlink(s.From); err != nil || text != string(s.Data) {
			return ErrChanged
		}
		return nil
	}
	from, err := os.Lstat(s.From)
	if s.SHA256 == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return errors.Join(ErrChanged, err)
	}
	if s.To != "" {
		to, err := os.Lstat(s.To)
		if err != nil {
			return err
		}
		if os.SameFile(from, to) {
			return nil
		}
	}
	got, err := fileHash(s.From)
	if err != nil {
		return err
	}
	if got != s.SHA256 {
		return ErrChanged
	}
	return nil
}

func rename(s Step) error {
	try := func() error { return os.Rename(s.From, s.To) }
	var err error
	if _, missing := os.Lstat(s.To); s.Op == Replace && missing == nil {
		// What is in the way may run for long: for the caller to wait for, or not.
		if err = try(); inUse(err) {
			return errors.Join(ErrInUse, err)
		}
	} else {
		err = patiently(try)
	}
	if err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(s.To)); err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.From))
}

func fileHash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
