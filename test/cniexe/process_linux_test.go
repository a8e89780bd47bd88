package cniexe

import (
	"bytes"
	"fmt"
	"os"
)

// running reports whether a process lives; one that waits for its parent to
// notice its end does not.
func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(b, []byte(") "))
	return len(state) > 0 && state[0] != 'Z' && state[0] != 'X'
}
