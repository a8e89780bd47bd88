package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"evenkeel.dev/evenkeel/internal/policy"
)

// TestConvert runs the scenarios in testdata/convert. Each prints the notes, then
// the new document or why there is none. Every new document is loaded.
func TestConvert(t *testing.T) {
	datadriven.Walk(t, "testdata/convert", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			text, notes, err := convert(t, "old.yaml", []byte(d.Input))
			for _, n := range notes {
				fmt.Fprintf(&b, "note: %v\n", n)
			}
			if err != nil {
				fmt.Fprintln(&b, err)
				return b.String()
			}
			b.Write(text)
			return b.String()
		})
	})
}

// convert also holds the result to what Load makes of it.
func convert(t *testing.T, name string, data []byte) ([]byte, []policy.Warning, error) {
	t.Helper()
	doc, notes, err := policy.Convert(name, data)
	if err != nil {
		return nil, notes, err
	}
	text, err := doc.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := policy.Load("converted", text); err != nil {
		t.Errorf("the converted policy does not load: %v\n%s", err, text)
	}
	return text, notes, nil
}

// refusedOldPolicies are the public v1alpha1 files that do not convert, and what each lacks. All others do.
func refusedOldPolicies() map[string]string {
	const (
		elided  = `strategies: expected a mapping, got "..."`
		nothing = "set at least one of maxPodLifeTimeSeconds, states, conditions and exitCodes"
	)
	return map[string]string{
		"050.yaml": elided, "075.yaml": elided, "096.yaml": elided, "100.yaml": elided,
		"095.yaml": nothing, "103.yaml": nothing, "104.yaml": nothing, "105.yaml": nothing, "107.yaml": nothing,
		"068.yaml": "thresholdPriority: Forbidden: only one of a value and a name",
		"108.yaml": "podRestartThreshold: Invalid value: 0: must be at least 1",
	}
}

// TestPublicOldPolicyFilesConvert: of the v1alpha1 files, 36 convert to a policy that loads, and 11 are refused with a reason.
func TestPublicOldPolicyFilesConvert(t *testing.T) {
	dir := corpusDir(t)
	refused := refusedOldPolicies()
	converted := 0
	for _, v := range verdicts(t, dir) {
		if !strings.Contains(v.message, policy.OldAPIVersion) {
			continue
		}
		t.Run(v.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, v.file))
			if err != nil {
				t.Fatal(err)
			}
			want, refuse := refused[v.file]
			delete(refused, v.file)
			text, notes, err := convert(t, v.file, data)
			for _, n := range notes {
				t.Logf("note: %v", n)
			}
			switch {
			case !refuse && err != nil:
				t.Errorf("refused: %v", err)
			case refuse && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("got %v, want it refused with %q", err, want)
			case !refuse:
				t.Logf("\n%s", text)
				converted++
			}
		})
	}
	if converted != 36 || len(refused) > 0 {
		t.Errorf("%d files converted, want 36; not met: %v", converted, refused)
	}
}
