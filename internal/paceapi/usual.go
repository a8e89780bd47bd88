package paceapi

import "strconv"

// What nearly every start says is written and read here. It is what package
// json would write, but that package's first look at a type takes longer than a
// tenth of the start of a process, and the executable is started for each pod.

// The lines below are of version 1.
const _ = uint(1-Version) + uint(Version-1)

// usualGrant is the whole of a grant line.
const usualGrant = `{"v":1,"type":"grant"}`

// appendUsual appends the line of m if it is a request, ack or done that needs
// no escapes.
func appendUsual(b []byte, m Message) ([]byte, bool) {
	b = append(b, `{"v":1,"type":"`...)
	b = append(b, m.Type...)
	b = append(b, '"')
	ok := true
	switch m.Type {
	case TypeRequest:
		b, ok = appendRequest(b, m.Request)
	case TypeDone:
		b = appendMillis(b, "durationMs", m.Done.Duration)
		b = appendInt(b, "exit", m.Done.Exit)
	case TypeAck:
	default:
		ok = false
	}
	return append(b, "}\n"...), ok
}

func appendRequest(b []byte, r Request) (_ []byte, ok bool) {
	ok = r.RunningFor == 0 && !r.Running && !r.Degraded
	for _, f := range []struct {
		name, value string
		required    bool
	}{
		{"uid", r.UID, false},
		{"namespace", r.Namespace, true},
		{"name", r.Name, true},
		{"container", r.Container, false},
		{"netns", r.NetNS, false},
		{"ifname", r.IfName, false},
	} {
		if f.value == "" && !f.required {
			continue
		}
		ok = ok && plain(f.value)
		b = append(appendName(b, f.name), '"')
		b = append(b, f.value...)
		b = append(b, '"')
	}
	if r.Attempt != 0 {
		b = appendInt(b, "attempt", r.Attempt)
	}
	b = appendMillis(b, "remainingMs", r.Remaining)
	if r.Waited != 0 {
		b = appendMillis(b, "waitedMs", r.Waited)
	}
	if r.SinceFirst != 0 {
		b = appendMillis(b, "sinceFirstMs", r.SinceFirst)
	}
	return b, ok
}

func appendName(b []byte, name string) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	return append(b, `":`...)
}

func appendInt(b []byte, name string, n int) []byte {
	return strconv.AppendInt(appendName(b, name), int64(n), 10)
}

func appendMillis(b []byte, name string, m Millis) []byte {
	return strconv.AppendInt(appendName(b, name), m.Milliseconds(), 10)
}

// plain says that s stands in JSON as it is, by the rules of package json,
// which also escapes what means something in HTML.
func plain(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
