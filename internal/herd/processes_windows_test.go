package herd

import "testing"

// processesIn finds nothing: Windows does not remove a folder that a process works in, so t.TempDir fails instead.
func processesIn(*testing.T, string) []string { return nil }
