package paceapi

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// answered is a client to which the agent says these bytes, and then hangs up
// or falls silent.
func answered(t *testing.T, text string, silent bool) *Client {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	go func() {
		_, _ = io.WriteString(theirs, text)
		if !silent {
			theirs.Close()
		}
	}()
	return NewClient(ours)
}

func TestWhatAnotherVersionSaysIsRefusedWhateverItIs(t *testing.T) {
	for name, line := range map[string]string{
		"another version":        `{"v":2,"type":"waiting"}`,
		"an error line":          `{"v":1,"type":"error","reason":"unknown protocol version 1: expected 2"}`,
		"a type of later times":  `{"v":1,"type":"maybe"}`,
		"a line out of place":    `{"v":1,"type":"done","durationMs":1,"exit":0}`,
		"an impossible place":    `{"v":1,"type":"waiting","rank":3,"length":1}`,
		"not a line of protocol": "HTTP/1.1 400 Bad Request",
		"an endless line":        strings.Repeat("x", 2*MaxLine),
	} {
		if m, err := answered(t, line+"\n", true).Next(time.Now().Add(time.Second)); !errors.Is(err, ErrRefusedLine) {
			t.Errorf("%s: got %+v, %v; want %v", name, m, err, ErrRefusedLine)
		}
	}
}

func TestAnAgentThatLeavesOrIsSilentIsNotOfAnotherVersion(t *testing.T) {
	for _, test := range []struct {
		text   string
		silent bool
		want   error
	}{
		{"", false, ErrHungUp},
		{`{"v":1,"type":"wai`, false, ErrHungUp},
		{"", true, os.ErrDeadlineExceeded},
		{`{"v":1,"type":"wai`, true, os.ErrDeadlineExceeded},
	} {
		_, err := answered(t, test.text, test.silent).Next(time.Now().Add(50 * time.Millisecond))
		if !errors.Is(err, test.want) || errors.Is(err, ErrRefusedLine) {
			t.Errorf("%q, silent %t: got %v, want %v", test.text, test.silent, err, test.want)
		}
	}
}
