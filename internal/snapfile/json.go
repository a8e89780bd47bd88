package snapfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// readJSON reads JSON documents one after the other. The items of a list are handed on as they are met.
func (f *file) readJSON(r io.Reader) error {
	s := newScanner(r)
	for {
		c, err := s.peek()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return f.errorf("%w", inside(err))
		case c == '-' && f.separator(s):
			continue
		}
		d := f.document()
		if c == '[' {
			err = d.bareList(s)
		} else {
			err = d.readObject(s)
		}
		if err != nil {
			return d.located(err)
		}
	}
}

// separator uses a "---" between two documents.
func (f *file) separator(s *scanner) bool {
	v, err := s.value()
	return err == nil && bytes.Equal(v, []byte("---"))
}

// bareList reads a list that is not inside an object, as jq prints it.
func (d *document) bareList(s *scanner) error {
	if err := d.readItems(s); err != nil {
		return err
	}
	return d.end([]byte(`{"kind":"List"}`), 0)
}

// readObject reads one document: an object, whose items are handed on when it is a list.
func (d *document) readObject(s *scanner) error {
	if _, err := s.expect("{"); err != nil {
		return err
	}
	head := []byte{'{'}
	c, err := s.peek()
	if err == nil && c == '}' {
		_, err = s.expect("}")
		return errors.Join(err, d.end([]byte("{}"), 0))
	}
	for {
		if head, err = d.readMember(s, head); err != nil {
			return err
		}
		if c, err = s.expect(",}"); err != nil {
			return err
		}
		head = append(head, c)
		if len(head) > maxObject {
			return errTooLong
		}
		if c == '}' {
			return d.end(head, 0)
		}
	}
}

// readMember reads a key and its value and appends both to the head; of a list's items it appends none.
func (d *document) readMember(s *scanner, head []byte) ([]byte, error) {
	if c, err := s.peek(); err != nil {
		return nil, inside(err)
	} else if c != '"' {
		_, err := s.expect(`"`)
		return nil, err
	}
	name, err := s.value()
	if err != nil {
		return nil, err
	}
	before := len(head)
	head = append(head, name...)
	if _, err := s.expect(":"); err != nil {
		return nil, err
	}
	head = append(head, ':')
	if string(name) == `"items"` {
		if c, err := s.peek(); err == nil && c == '[' && d.begin(closed(head[:before])) {
			return append(head, "[]"...), d.readItems(s)
		}
	}
	v, err := s.value()
	if err != nil {
		return nil, err
	}
	return append(head, v...), nil
}

// closed is the head so far as an object of its own.
func closed(head []byte) []byte {
	return append(bytes.Clone(bytes.TrimSuffix(head, []byte(","))), '}')
}

func (d *document) readItems(s *scanner) error {
	if _, err := s.expect("["); err != nil {
		return err
	}
	if c, err := s.peek(); err != nil {
		return inside(err)
	} else if c == ']' {
		_, err := s.expect("]")
		return err
	}
	for {
		d.items++
		raw, err := s.value()
		if err != nil {
			return err
		}
		if err := d.item(raw, 0); err != nil {
			return err
		}
		if c, err := s.expect(",]"); err != nil {
			return err
		} else if c == ']' {
			return nil
		}
	}
}

// typeOf returns the type of an object without decoding the rest of it: kubectl and the API server write it first.
func typeOf(raw []byte) (apiVersion, kind string, problem *fieldError) {
	s := scanner{buf: raw, err: io.EOF}
	if _, err := s.expect("{"); err != nil {
		return "", "", &fieldError{value: shortened(string(raw)), err: errors.New("expected an object")}
	}
	for {
		if c, err := s.peek(); err != nil || c != '"' {
			return apiVersion, kind, nil // whatever is wrong, decoding will say it better
		}
		name, err := s.value()
		if err != nil {
			return apiVersion, kind, nil
		}
		if _, err := s.expect(":"); err != nil {
			return apiVersion, kind, nil
		}
		value, err := s.value()
		if err != nil {
			return apiVersion, kind, nil
		}
		switch string(name) {
		case `"apiVersion"`:
			err = json.Unmarshal(value, &apiVersion)
		case `"kind"`:
			err = json.Unmarshal(value, &kind)
		}
		if err != nil {
			return "", "", &fieldError{path: strings.Trim(string(name), `"`), value: shortened(string(value)), err: errors.New("expected a string")}
		}
		if apiVersion != "" && kind != "" {
			return apiVersion, kind, nil
		}
		if _, err := s.expect(","); err != nil {
			return apiVersion, kind, nil
		}
	}
}
