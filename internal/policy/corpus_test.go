package policy_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
)

// corpusDir is where the public policy files are, "" if they are not here.
func corpusDir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("EVENKEEL_POLICIES")
	if dir != "" {
		return dir
	}
	dir = filepath.Join("..", "..", "..", "shared", "policies")
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("no public policy files: EVENKEEL_POLICIES is not set and there is no %s", dir)
	}
	return dir
}

// verdict is what the descheduler says of a file.
type verdict struct{ file, outcome, message string }

func verdicts(tb testing.TB, dir string) []verdict {
	tb.Helper()
	f, err := os.Open(filepath.Join(dir, "VERDICTS.tsv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []verdict
	for s := bufio.NewScanner(f); s.Scan(); {
		if c := strings.SplitN(s.Text(), "\t", 3); len(c) == 3 && c[0] != "file" {
			all = append(all, verdict{c[0], c[1], c[2]})
		}
	}
	return all
}

// needsCluster says that a file was refused because of what a cluster lacked,
// which reading the file cannot tell.
func (v verdict) needsCluster() bool {
	return strings.HasPrefix(v.message, "unable to get priority value from the priority class")
}

// TestPublicPolicyFiles holds us to what the descheduler accepts.
func TestPublicPolicyFiles(t *testing.T) {
	dir := corpusDir(t)
	for _, v := range verdicts(t, dir) {
		t.Run(v.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, v.file))
			if err != nil {
				t.Fatal(err)
			}
			p, warnings, err := policy.Load(v.file, data)
			for _, w := range warnings {
				t.Logf("warning: %v", w)
			}
			if err != nil {
				t.Logf("refused:\n%v\nthe descheduler: %s", err, v.message)
			}
			accept := v.outcome == "OK" || v.needsCluster()
			switch {
			case accept && err != nil:
				t.Error("refused, and the descheduler accepts it")
			case !accept && err == nil:
				t.Errorf("accepted, and the descheduler refuses it: %s", v.message)
			case accept && p == nil:
				t.Error("accepted without a policy")
			}
			var problems *policy.Error
			if err != nil && (!errors.As(err, &problems) || len(problems.Problems) == 0) {
				t.Errorf("the error is no list of problems: %v", err)
			}
		})
	}
}
