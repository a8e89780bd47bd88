package install

import (
	"bytes"
	"testing"
)

func TestOnlyProgramsOfThisNodeAreAccepted(t *testing.T) {
	linux, windows, arm := platform{"linux", "amd64"}, platform{"windows", "amd64"}, platform{"linux", "arm64"}
	for _, c := range []struct {
		on   platform
		data []byte
		ok   bool
	}{
		{linux, programFor(linux, ""), true},
		{windows, programFor(windows, ""), true},
		{linux, programFor(windows, ""), false},
		{windows, programFor(linux, ""), false},
		{linux, programFor(arm, ""), false},
		{linux, programFor(linux, "")[:150], false},
		{windows, []byte("#!/bin/sh\n"), false},
		{linux, []byte("#!/bin/sh\n"), true},
		{windows, []byte("MZ"), false},
		{linux, []byte("\x7fELF"), false},
	} {
		problem := c.on.problem(bytes.NewReader(c.data), int64(len(c.data)), 0o755)
		if (problem == "") != c.ok {
			t.Errorf("%v, %d bytes: %q", c.on, len(c.data), problem)
		}
	}
}
