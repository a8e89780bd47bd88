package snapfile

import (
	"errors"
	"fmt"
	"io"
)

// maxObject is the most bytes that one object may have. The API server stores none above a few MiB.
const maxObject = 64 << 20

var (
	errCutShort = errors.New("the file is cut short")
	errTooLong  = fmt.Errorf("an object of more than %d MiB; no Kubernetes object is that large", maxObject>>20)
)

// matcher finds where a JSON value ends, without looking at what it is: brackets and quotes alone. Whether the value is right is found out
// when it is decoded.
type matcher struct {
	depth         int
	quoted, slash bool
}

// end takes the next bytes of a value and returns how many belong to it, or -1 when all do and the value is not known to be over.
func (m *matcher) end(chunk []byte) int {
	for i, c := range chunk {
		if m.quoted {
			switch {
			case m.slash:
				m.slash = false
			case c == '\\':
				m.slash = true
			case c == '"':
				m.quoted = false
				if m.depth == 0 {
					return i + 1
				}
			}
			continue
		}
		switch c {
		case '"':
			m.quoted = true
		case '{', '[':
			m.depth++
		case '}', ']':
			if m.depth == 0 {
				return i
			}
			if m.depth--; m.depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\n', '\r', '\t':
			if m.depth == 0 {
				return i
			}
		}
	}
	return -1
}

// scanner cuts a stream of JSON into values. It holds no more than one value.
type scanner struct {
	r        io.Reader
	buf      []byte // what was read and not yet used is buf[from:]
	from     int
	consumed int64 // bytes of the stream before buf[0]
	err      error // of r, once it has ended; io.EOF when it ended well
}

func newScanner(r io.Reader) *scanner { return &scanner{r: r, buf: make([]byte, 0, 64<<10)} }

// offset is how many bytes of the stream were used.
func (s *scanner) offset() int64 { return s.consumed + int64(s.from) }

// more reads on. It returns false at the end of the stream.
func (s *scanner) more() bool {
	if s.err != nil {
		return false
	}
	if s.from > 0 && len(s.buf) == cap(s.buf) {
		s.consumed += int64(s.from)
		s.buf = s.buf[:copy(s.buf, s.buf[s.from:])]
		s.from = 0
	}
	if len(s.buf) == cap(s.buf) {
		s.buf = append(make([]byte, 0, 2*cap(s.buf)), s.buf...)
	}
	n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	s.err = err
	return n > 0 || err == nil
}

// peek returns the next byte that is not white space, without using it. At the end it returns the error of the stream, io.EOF when it
// ended well.
func (s *scanner) peek() (byte, error) {
	for {
		for ; s.from < len(s.buf); s.from++ {
			switch c := s.buf[s.from]; c {
			case ' ', '\n', '\r', '\t':
			default:
				return c, nil
			}
		}
		if !s.more() {
			return 0, s.err
		}
	}
}

// expect uses the next byte, which must be one of those wanted.
func (s *scanner) expect(wanted string) (byte, error) {
	c, err := s.peek()
	if err != nil {
		return 0, inside(err)
	}
	for i := range len(wanted) {
		if wanted[i] == c {
			s.from++
			return c, nil
		}
	}
	return 0, fmt.Errorf("not JSON at byte %d of the file: expected %s, found %q", s.offset(), alternatives(wanted), rune(c))
}

func alternatives(wanted string) string {
	text := ""
	for i, r := range wanted {
		if i > 0 {
			text += " or "
		}
		text += fmt.Sprintf("%q", r)
	}
	return text
}

// inside is the error for a stream that ends within a document.
func inside(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCutShort
	}
	return err
}

// value uses the next value and returns its bytes, which are good until the next call.
func (s *scanner) value() ([]byte, error) {
	if _, err := s.peek(); err != nil {
		return nil, inside(err)
	}
	var m matcher
	seen := 0
	for {
		n := m.end(s.buf[s.from+seen:])
		if n >= 0 {
			seen += n
		} else {
			seen = len(s.buf) - s.from
		}
		if seen > maxObject {
			return nil, errTooLong
		}
		if n >= 0 {
			break
		}
		if !s.more() {
			if m.depth > 0 || m.quoted || !errors.Is(s.err, io.EOF) {
				return nil, inside(s.err)
			}
			break
		}
	}
	if seen == 0 {
		return nil, fmt.Errorf("not JSON at byte %d of the file: expected a value, found %q", s.offset(), rune(s.buf[s.from]))
	}
	v := s.buf[s.from : s.from+seen]
	s.from += seen
	return v, nil
}
