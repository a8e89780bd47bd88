package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"evenkeel.dev/evenkeel/internal/cli"
)

// TestPolicyScripts runs the scripts in testdata/policy. In them "evenkeel ARG..."
// is the program, "<FILE" as last argument its standard input, and "! evenkeel"
// expects an exit status other than 0; "status N" tells which.
func TestPolicyScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/policy",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"evenkeel": runEvenkeel,
			"status":   checkStatus,
		},
	})
}

func runEvenkeel(ts *testscript.TestScript, neg bool, args []string) {
	var in io.Reader = strings.NewReader("")
	if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "<") {
		in = strings.NewReader(ts.ReadFile(args[n-1][1:]))
		args = args[:n-1]
	}
	dir := ts.MkAbs(".") + string(os.PathSeparator)
	argv := []string{"evenkeel"}
	for _, a := range args {
		// The program runs in the test's own directory, not the script's.
		if strings.HasSuffix(a, ".yaml") {
			a = ts.MkAbs(a)
		}
		argv = append(argv, a)
	}
	var out, errs bytes.Buffer
	code := cli.Run(context.Background(), cli.Streams{In: in, Out: &out, Err: &errs}, argv)
	fmt.Fprint(ts.Stdout(), strings.ReplaceAll(out.String(), dir, ""))
	fmt.Fprint(ts.Stderr(), strings.ReplaceAll(errs.String(), dir, ""))
	ts.Setenv("STATUS", fmt.Sprint(code))
	if neg == (code == 0) {
		ts.Fatalf("exit status %d\n%s%s", code, out.String(), errs.String())
	}
}

func checkStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: status N")
	}
	if got := ts.Getenv("STATUS"); got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}
