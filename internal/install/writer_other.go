//go:build !linux && !windows

package install

// writerHolds cannot be answered here; stable content decides alone.
func writerHolds(string) (bool, error) { return false, nil }
