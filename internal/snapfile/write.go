package snapfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Writer writes a snapshot as one v1 List in JSON, one item a line. It writes each item at once and holds none.
type Writer struct {
	w      io.Writer
	redact bool
	err    error // the first
}

// NewWriter starts a snapshot. Items are redacted when the header says so.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.APIVersion, h.Kind, h.TakenAt = HeaderAPIVersion, HeaderKind, h.TakenAt.UTC()
	if h.TakenAt.IsZero() {
		return nil, errors.New("write snapshot: the time it was taken is not known")
	}
	if h.Redacted {
		h = h.withoutMessages()
	}
	out := &Writer{w: w, redact: h.Redacted}
	data, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write snapshot: %w", err)
	}
	out.write([]byte("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n"), data)
	return out, out.err
}

// Add writes an object of the given type, which its JSON need not tell. Its managed fields, which are often half of it and of no use to anyone
// but the API server, are left out.
func (w *Writer) Add(apiVersion, kind string, object []byte) error {
	data, err := w.item(apiVersion, kind, object)
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	if data != nil {
		w.write([]byte(",\n"), data)
	}
	return w.err
}

// Close ends the list. It does not close what the writer writes to.
func (w *Writer) Close() error {
	w.write([]byte("\n]}\n"))
	return w.err
}

func (w *Writer) write(parts ...[]byte) {
	for _, data := range parts {
		if w.err == nil {
			if _, err := w.w.Write(data); err != nil {
				w.err = fmt.Errorf("write snapshot: %w", err)
			}
		}
	}
}

func (w *Writer) item(apiVersion, kind string, object []byte) ([]byte, error) {
	typed, problem := withType(apiVersion, kind, object)
	if problem != nil {
		return nil, problem.in(objectName(kind, object))
	}
	if w.redact {
		return Redact(apiVersion, kind, typed)
	}
	return typed, nil
}

// withType is an object with its type and without its managed fields.
func withType(apiVersion, kind string, object []byte) ([]byte, *fieldError) {
	fields, problem := decode[map[string]json.RawMessage](object)
	if problem != nil {
		return nil, problem
	}
	metadata, problem := decode[map[string]json.RawMessage]((*fields)["metadata"])
	if problem != nil {
		return nil, problem.under("metadata")
	}
	delete(*metadata, "managedFields")
	typed := *fields
	var err error
	for name, value := range map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": *metadata} {
		if typed[name], err = json.Marshal(value); err != nil {
			return nil, &fieldError{path: name, err: err}
		}
	}
	out, err := json.Marshal(typed)
	if err != nil {
		return nil, &fieldError{err: err}
	}
	return out, nil
}

// in is the mistake as an error about an object that is in no file.
func (e *fieldError) in(object string) error {
	text := object
	for _, part := range []string{e.path, e.value} {
		if part != "" {
			text += ": " + part
		}
	}
	return fmt.Errorf("%s: %w", text, e.err)
}
