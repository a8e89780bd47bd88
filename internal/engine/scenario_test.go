package engine_test

import (
	"testing"

	"evenkeel.dev/evenkeel/internal/testkit"
)

// TestScenarios runs the scenario files: the cycle and its gates.
func TestScenarios(t *testing.T) { testkit.RunScenarios(t, "testdata") }
