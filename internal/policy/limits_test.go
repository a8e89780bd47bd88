package policy_test

import (
	"bytes"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
)

const smallPolicy = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"

// TestHostileFilesAreRefused: what cannot be a policy is refused with one clear
// line.
func TestHostileFilesAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, data, want string
	}{
		{"empty", "", "is empty"},
		{"blank", " \n\t\n", "is empty"},
		{"byte order mark only", "\ufeff", "is empty"},
		{"binary", smallPolicy + "profiles: [\xff\xfe]\n", "is not UTF-8 text (line 3)"},
		{"UTF-16", "\xff\xfea\x00p\x00i\x00", "is not UTF-8 text (line 1)"},
		{"100 MB on one line", strings.Repeat("a", 100<<20), "is longer than a policy file can be"},
		{"deep nesting", smallPolicy + "profiles: " + strings.Repeat("[", 1<<20), "exceeded max depth"},
		{"deep mappings", smallPolicy + "x: " + strings.Repeat("{a: ", 100_000), "exceeded max depth"},
		{"wide list", smallPolicy + "profiles: [" + strings.Repeat("0,", 300_000) + "]", "200000 values"},
		{"control characters", smallPolicy + "profiles: \x00", "control characters are not allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := policy.Load("hostile.yaml", []byte(c.data))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
			if text := err.Error(); strings.Count(text, "\n") > 0 || len(text) > 300 || !strings.HasPrefix(text, "hostile.yaml: ") {
				t.Errorf("the error is not one short line about the file: %q", text)
			}
		})
	}
}

func TestByteOrderMarkIsNoPartOfTheText(t *testing.T) {
	data := append([]byte("\ufeff"), smallPolicy+"nodeSelektor: a\n"...)
	_, warnings, err := policy.Load("bom.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) == 0 || warnings[len(warnings)-1].Line != 3 {
		t.Errorf("warnings %v, want one for line 3", warnings)
	}
}

func TestWindowsLineEndsAreLineEnds(t *testing.T) {
	data := bytes.ReplaceAll([]byte("a: b\n---\n"+smallPolicy+"nodeSelector: '(('\n"), []byte("\n"), []byte("\r\n"))
	_, _, err := policy.Load("crlf.yaml", data)
	if err == nil || !strings.Contains(err.Error(), "(line 5)") {
		t.Errorf("got %v, want an error for line 5", err)
	}
}
