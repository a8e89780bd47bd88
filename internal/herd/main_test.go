package herd

import (
	"context"
	"os"
	"testing"
)

// TestMain lets the test's own binary be every process of a herd.
func TestMain(m *testing.M) {
	if code, is := Process(context.Background()); is {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
