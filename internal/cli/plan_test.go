package cli_test

import (
	"flag"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the plan scripts print into them")

// TestPlanScripts runs the scripts in testdata/plan; see TestPolicyScripts. With -update what they print is written into them.
func TestPlanScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/plan",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"evenkeel": runEvenkeel,
			"status":   checkStatus,
		},
	})
}
