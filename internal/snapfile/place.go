package snapfile

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is something wrong with a file: where, and what was expected.
type Error struct {
	File     string // as it was given; "standard input" for "-"
	Document int    // 1, 2, …; 0 when it is about the file as a whole
	Item     int    // 1, 2, … within a list; 0 when the document is the object itself
	Line     int    // of a YAML file, where the item starts or the mistake is; 0 when not known
	Object   string // for example "Pod shop/web-1"; empty when not known
	Field    string // path within the object, for example spec.containers[0].image
	Value    string // what is there, as JSON, shortened; empty when it is the absence that is wrong
	Err      error  // what is wrong, or what was expected
}

// Error is one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Document > 0 {
		fmt.Fprintf(&b, ": %s", e.where())
	}
	for _, part := range []string{e.Field, e.Value, e.Err.Error()} {
		if part != "" {
			b.WriteString(": " + part)
		}
	}
	return b.String()
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) where() string {
	s := place{document: int32(e.Document), item: int32(e.Item)}.String()
	if e.Line > 0 {
		s += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Object != "" {
		s += fmt.Sprintf(" (%s)", e.Object)
	}
	return s
}

// place is where an object was read. It is small, since one is kept for every object.
type place struct {
	file, document, item, line int32
}

func (p place) String() string {
	s := fmt.Sprintf("document %d", p.document)
	if p.item > 0 {
		s += fmt.Sprintf(", item %d", p.item)
	}
	return s
}

// fieldError is something wrong with a field of an object.
type fieldError struct {
	path  string // starts with "." or "[" when it is relative to another field
	value string
	err   error
}

// under puts the field below another one.
func (e *fieldError) under(path string) *fieldError {
	if e == nil {
		return nil
	}
	if e.path != "" && e.path[0] != '.' && e.path[0] != '[' && path != "" {
		path += "."
	}
	return &fieldError{path: path + e.path, value: e.value, err: e.err}
}

// key is the step of a path that a key of a map or object is.
func key(name string) string {
	plain := name != ""
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			plain = false
		}
	}
	if plain {
		return "." + name
	}
	return "[" + strconv.Quote(name) + "]"
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// shortened is a value fit for a message.
func shortened(value string) string {
	const most = 80
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}
