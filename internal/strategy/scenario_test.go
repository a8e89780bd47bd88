package strategy_test

import (
	"testing"

	"evenkeel.dev/evenkeel/internal/testkit"
)

// TestScenarios runs the scenario files: one folder for each strategy.
func TestScenarios(t *testing.T) { testkit.RunScenarios(t, "testdata") }
