package policy_test

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
)

func TestYAMLSyntaxErrorsNameTheirLine(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a tab on the first line", "\tapiVersion: a\nkind: b\n", "line 1"},
		{"a control character", "a: b\nc: \"\x01\"\n", "line 2"},
		{"a control character in the second document", "a: b\n---\nc: d\ne: \"\x01\"\n", "line 4"},
		{"too many brackets", strings.Repeat("[", 20000), "line 1"},
		{"a mapping that is not closed", "a: b\nc: {d: e\nf: g\n", "line"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := policy.Load("policy.yaml", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Load(%.40q) = %v, want an error with %q", test.text, err, test.want)
			}
		})
	}
}
