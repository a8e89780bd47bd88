package snapfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// file is one file while it is read.
type file struct {
	b         *builder
	index     int    // in builder.files
	name      string // for messages
	documents int    // met so far
}

// document starts the next document.
func (f *file) document() *document {
	f.documents++
	return &document{file: f, number: f.documents}
}

// errorf is an error about the file as a whole.
func (f *file) errorf(format string, args ...any) error {
	return &Error{File: f.name, Err: fmt.Errorf(format, args...)}
}

// expand replaces directories by the files in them, in order of name.
func expand(paths []string) ([]string, error) {
	var out []string
	for _, path := range paths {
		if path == "-" {
			out = append(out, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("read snapshot: %w", err)
		}
		if !info.IsDir() {
			out = append(out, path)
			continue
		}
		files, err := snapshotsIn(path)
		if err != nil {
			return nil, fmt.Errorf("read snapshot: %w", err)
		}
		out = append(out, files...)
	}
	if len(out) == 0 {
		return nil, errors.New("read snapshot: no file given")
	}
	return out, nil
}

func snapshotsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !slices.Contains([]string{".json", ".yaml", ".yml", ".gz"}, filepath.Ext(e.Name())) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if info.Mode().IsRegular() {
			out = append(out, path)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("directory %s: no file whose name ends with .json, .yaml, .yml or .gz", dir)
	}
	return out, nil
}

func (b *builder) readFile(name string, stdin io.Reader) error {
	f := &file{b: b, index: len(b.files), name: name}
	if name == "-" {
		f.name = "standard input"
	}
	b.files = append(b.files, f)
	r := stdin
	if name != "-" {
		opened, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("read snapshot: %w", err)
		}
		defer opened.Close()
		r = opened
	} else if r == nil {
		return f.errorf("there is none")
	}
	if err := f.read(r); err != nil {
		return err
	}
	if f.documents == 0 {
		return f.errorf("empty; expected objects as kubectl prints them, in JSON or YAML")
	}
	return nil
}

// read finds out what kind of file it is from its first bytes.
func (f *file) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return f.errorf("gzip: %w", inside(err))
		}
		in = bufio.NewReaderSize(unzipped, 64<<10)
	}
	start, err := in.Peek(4 << 10)
	if len(start) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return f.errorf("%w", inside(err))
	}
	if utf16(start) {
		return f.errorf("UTF-16, as \">\" writes it in Windows PowerShell; expected UTF-8: use \"kubectl get … -o json | Out-File -Encoding utf8 FILE\"")
	}
	if bom := []byte("\ufeff"); bytes.HasPrefix(start, bom) {
		_, _ = in.Discard(len(bom))
		start = start[len(bom):]
	}
	if looksLikeJSON(start) {
		return f.readJSON(in)
	}
	return f.readYAML(in)
}

// looksLikeJSON tells JSON from YAML in flow style, where keys are rarely quoted.
func looksLikeJSON(start []byte) bool {
	inside := bytes.TrimLeft(start, " \r\n\t{[")
	opened := bytes.TrimLeft(start[:len(start)-len(inside)], " \r\n\t")
	return len(opened) > 0 && (len(inside) == 0 || bytes.IndexByte([]byte("\"}]"), inside[0]) >= 0)
}

func utf16(start []byte) bool {
	return bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}) ||
		len(start) > 1 && (start[0] == 0) != (start[1] == 0)
}
