package pacepolicy

import (
	"os"
	"testing"

	"evenkeel.dev/evenkeel/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
