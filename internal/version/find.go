package version

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// maxRelease is the longest release that Find recognises.
const maxRelease = 128

// Find gives the release that the linker stamped into the program that r reads
// to its end, without running it; "" when there is none.
func Find(r io.Reader) (string, error) {
	// Put together here, so that the programs that look are not taken for it.
	prefix := []byte(strings.Join([]string{"evenkeel", "release:"}, "-"))
	longest := len(prefix) + maxRelease + 1
	window := make([]byte, 0, 64<<10)
	for {
		n, err := io.ReadFull(r, window[len(window):cap(window)])
		window = window[:len(window)+n]
		if release, ok := find(window, prefix); ok {
			return release, nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		// What may be cut in two is looked at again.
		window = append(window[:0], window[len(window)-longest:]...)
	}
}

func find(data, prefix []byte) (string, bool) {
	for {
		at := bytes.Index(data, prefix)
		if at < 0 {
			return "", false
		}
		data = data[at+len(prefix):]
		end := bytes.IndexByte(data[:min(len(data), maxRelease+1)], ';')
		if end > 0 && bytes.IndexFunc(data[:end], unusual) < 0 {
			return string(data[:end]), true
		}
	}
}

// unusual reports a character that git describe and semantic versions do not use.
func unusual(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(".+-_/", r)
}
