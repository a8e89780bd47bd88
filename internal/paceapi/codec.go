package paceapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrVersion is wrapped by Parse for a line in another version of the protocol.
var ErrVersion = errors.New("unknown protocol version")

// ErrTooLong is wrapped when a line is longer than MaxLine.
var ErrTooLong = errors.New("line is too long")

// head is what every line begins with.
type head struct {
	V    int  `json:"v"`
	Type Type `json:"type"`
}

type note struct {
	Agent  string `json:"agent,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Format gives the line of m, newline included, never longer than MaxLine.
// Names are sent as they are and reasons cut to 1 KiB.
func Format(m Message) ([]byte, error) {
	m.Place.Reason, m.Reason = clip(m.Place.Reason), clip(m.Reason)
	line, ok := appendUsual(nil, m)
	if !ok {
		var err error
		if line, err = formatAny(m); err != nil {
			return nil, fmt.Errorf("formatting a %s line: %w", m.Type, err)
		}
	}
	if len(line) > MaxLine {
		return nil, fmt.Errorf("formatting a %s line of %d bytes: %w", m.Type, len(line), ErrTooLong)
	}
	return line, nil
}

// formatAny gives the line of any message.
func formatAny(m Message) ([]byte, error) {
	h := head{V: Version, Type: m.Type}
	var line any
	switch m.Type {
	case TypeRequest:
		line = struct {
			head
			Request
		}{h, m.Request}
	case TypeWaiting, TypeRefuse:
		line = struct {
			head
			Place
		}{h, m.Place}
	case TypeDone:
		line = struct {
			head
			Done
		}{h, m.Done}
	case TypePong, TypeError:
		line = struct {
			head
			note
		}{h, note{m.Agent, m.Reason}}
	default:
		line = h
	}
	b, err := json.Marshal(line)
	return append(b, '\n'), err
}

// clip keeps reasons short and whole: a cut in the middle of a character is
// mended, or JSON would make three bytes of each of its parts.
func clip(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason], "")
}

// Parse reads one line, with or without its newline. The message is valid in
// itself: type known, names present where required, numbers in range.
func Parse(line []byte) (Message, error) {
	if len(line) > MaxLine {
		return Message{}, ErrTooLong
	}
	line = bytes.TrimSpace(line)
	if string(line) == usualGrant {
		return Message{Type: TypeGrant}, nil
	}
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return Message{}, fmt.Errorf("a line is not a JSON object of the protocol: %w", err)
	}
	if h.V != Version {
		return Message{}, fmt.Errorf("%w %d: expected %d", ErrVersion, h.V, Version)
	}
	m := Message{Type: h.Type}
	if err := m.parseBody(line); err != nil {
		return Message{}, fmt.Errorf("%s line: %w", h.Type, err)
	}
	return m, nil
}

func (m *Message) parseBody(line []byte) error {
	switch m.Type {
	case TypeRequest:
		if err := json.Unmarshal(line, &m.Request); err != nil {
			return err
		}
		return m.Request.validate()
	case TypeWaiting, TypeRefuse:
		if err := json.Unmarshal(line, &m.Place); err != nil {
			return err
		}
		return m.Place.validate()
	case TypeDone:
		return json.Unmarshal(line, &m.Done)
	case TypePong, TypeError:
		var n note
		err := json.Unmarshal(line, &n)
		m.Agent, m.Reason = n.Agent, clip(n.Reason)
		return err
	case TypeGrant, TypeAck, TypePing:
		return nil
	default:
		return errors.New("type is unknown")
	}
}

func (r Request) validate() error {
	var errs []error
	for _, f := range []struct{ name, value string }{
		{"uid", r.UID},
		{"namespace", r.Namespace},
		{"name", r.Name},
		{"container", r.Container},
		{"netns", r.NetNS},
		{"ifname", r.IfName},
	} {
		if len(f.value) > maxName {
			errs = append(errs, fmt.Errorf("%s has %d bytes: expected at most %d", f.name, len(f.value), maxName))
		}
	}
	if r.Namespace == "" || r.Name == "" {
		errs = append(errs, errors.New("namespace and name are required"))
	}
	if r.Attempt < 0 {
		errs = append(errs, fmt.Errorf("attempt %d is negative", r.Attempt))
	}
	return errors.Join(errs...)
}

func (p *Place) validate() error {
	p.Reason = clip(p.Reason)
	if p.Rank < 0 || p.Length < 0 || p.Rank > p.Length {
		return fmt.Errorf("rank %d of %d is not a place in a queue", p.Rank, p.Length)
	}
	return nil
}
