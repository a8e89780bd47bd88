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

// TestPublicOldPolicyFilesConvert: every v1alpha1 file converts to a policy that
// loads, or is refused with a reason.
func TestPublicOldPolicyFilesConvert(t *testing.T) {
	dir := corpusDir(t)
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
			text, notes, err := convert(t, v.file, data)
			for _, n := range notes {
				t.Logf("note: %v", n)
			}
			if err != nil {
				t.Logf("refused: %v", err)
				return
			}
			t.Logf("\n%s", text)
			converted++
		})
	}
	if converted == 0 {
		t.Error("no file converted")
	}
}
