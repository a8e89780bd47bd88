// Package e2e_test runs the programs against a real control plane.
package e2e_test

import (
	"os"
	"testing"

	"evenkeel.dev/evenkeel/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
