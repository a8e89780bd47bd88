package snapfile

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// OutFile is a file that appears under its name only when it is whole: until then it is a temporary file next to it. It is compressed
// when its name ends with .gz.
type OutFile struct {
	path string
	tmp  *os.File
	buf  *bufio.Writer
	zip  *gzip.Writer // nil when not compressed
	mark int64        // length at the last Mark
}

// Create starts a file. The file that has the name now stays until [OutFile.Commit]; anything but a regular file is an error.
func Create(path string) (*OutFile, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("write %s: not a regular file", path) // it would be replaced
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	f := &OutFile{path: path, tmp: tmp, buf: bufio.NewWriterSize(tmp, 256<<10)}
	if strings.HasSuffix(path, ".gz") {
		f.zip = gzip.NewWriter(f.buf)
	}
	return f, nil
}

// Write writes.
func (f *OutFile) Write(p []byte) (int, error) {
	if f.zip != nil {
		return f.zip.Write(p)
	}
	return f.buf.Write(p)
}

// Mark sets the point that [OutFile.Rewind] goes back to.
func (f *OutFile) Mark() error {
	if f.zip != nil { // a gzip file may consist of several parts
		if err := f.zip.Close(); err != nil {
			return f.failed(err)
		}
		f.zip.Reset(f.buf)
	}
	if err := f.buf.Flush(); err != nil {
		return f.failed(err)
	}
	at, err := f.tmp.Seek(0, io.SeekCurrent)
	if err != nil {
		return f.failed(err)
	}
	f.mark = at
	return nil
}

// Rewind takes back everything written since the last Mark.
func (f *OutFile) Rewind() error {
	f.buf.Reset(f.tmp)
	if f.zip != nil {
		f.zip.Reset(f.buf)
	}
	if err := f.tmp.Truncate(f.mark); err != nil {
		return f.failed(err)
	}
	if _, err := f.tmp.Seek(f.mark, io.SeekStart); err != nil {
		return f.failed(err)
	}
	return nil
}

// Commit gives the file its name, and returns its size in bytes. Only the owner may read it: a snapshot that is not redacted holds what the
// cluster's administrator can see.
func (f *OutFile) Commit() (int64, error) {
	if err := f.Mark(); err != nil {
		return 0, errors.Join(err, f.Abort())
	}
	if err := f.tmp.Sync(); err != nil {
		return 0, errors.Join(f.failed(err), f.Abort())
	}
	if err := f.tmp.Close(); err != nil {
		return 0, errors.Join(f.failed(err), f.Abort())
	}
	if err := os.Rename(f.tmp.Name(), f.path); err != nil {
		return 0, errors.Join(f.failed(err), f.Abort())
	}
	return f.mark, nil
}

// Abort removes the temporary file. After Commit it does nothing.
func (f *OutFile) Abort() error {
	_ = f.tmp.Close() // it may be closed already
	if err := os.Remove(f.tmp.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return f.failed(err)
	}
	return nil
}

func (f *OutFile) failed(err error) error { return fmt.Errorf("write %s: %w", f.path, err) }
