// Package standin tells a stand-in from a plugin, by its file alone.
package standin

import (
	"bytes"
	"io"
	"os"
	"strings"
)

// Mark is found in every stand-in of any version: the Go tool chain stores a
// program's import path in its build information, also when it is stripped. It is
// put together here so that programs which look for it do not carry it.
func Mark() []byte {
	return []byte(strings.Join([]string{"evenkeel.dev/evenkeel", "cmd", "evenkeel-cni"}, "/"))
}

// Is reports whether the file at path is a stand-in. It reads the file.
func Is(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	find := NewFinder()
	_, err = io.Copy(find, f)
	return find.Found, err
}

// Finder is a writer that notices whether what passes through it is a stand-in.
type Finder struct {
	Found bool

	want []byte
	tail []byte // of what has passed: the mark may be split over two writes
}

// NewFinder returns a Finder through which nothing has passed.
func NewFinder() *Finder { return &Finder{want: Mark()} }

// Write implements io.Writer and never fails.
func (f *Finder) Write(p []byte) (int, error) {
	if f.Found {
		return len(p), nil
	}
	overlap := len(f.want) - 1
	edge := append(f.tail, p[:min(len(p), overlap)]...)
	f.Found = bytes.Contains(edge, f.want) || bytes.Contains(p, f.want)
	if len(p) >= overlap {
		edge = p
	}
	f.tail = bytes.Clone(edge[max(0, len(edge)-overlap):])
	return len(p), nil
}
