package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
)

// scenarioInput cuts the files out of a scenario.
var scenarioInput = regexp.MustCompile(`(?ms)^(?:load|strict|convert)[^\n]*\n(.*?)\n----$`)

// FuzzLoad: whatever the bytes, there is a policy or a list of problems, the
// same ones every time, and what is accepted can also be decoded.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/load/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range scenarioInput.FindAllSubmatch(data, -1) {
			f.Add(m[1])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, warnings, err := policy.Load("fuzz", data)
		if (p == nil) != (err != nil) {
			t.Fatalf("policy %v with error %v", p, err)
		}
		var problems *policy.Error
		if err != nil && (!errors.As(err, &problems) || len(problems.Problems) == 0) {
			t.Fatalf("the error is no list of problems: %v", err)
		}
		_, again, err2 := policy.Load("fuzz", data)
		if len(again) != len(warnings) || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Fatalf("two answers for one file:\n%v\n%v", err, err2)
		}
		if _, _, decodeErr := policy.Decode("fuzz", data); err == nil && decodeErr != nil {
			t.Fatalf("loaded but not decoded: %v", decodeErr)
		}
	})
}

// FuzzConvert: whatever converts can be rendered, and what is rendered loads.
func FuzzConvert(f *testing.F) {
	files, err := filepath.Glob("testdata/convert/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range scenarioInput.FindAllSubmatch(data, -1) {
			f.Add(m[1])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, _, err := policy.Convert("fuzz", data)
		if err != nil {
			return
		}
		text, err := doc.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := policy.Load("converted", text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
