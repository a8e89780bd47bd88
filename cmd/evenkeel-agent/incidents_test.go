package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// noTest is how a row of the table begins its last column that names no test but
// says why there can be none.
const noTest = "no test: "

// TestEveryIncidentNamesTestsThatExist holds docs/incidents.md against the tests
// and scenario files of the repository. Every row names some, or says that there
// is none and why.
func TestEveryIncidentNamesTestsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "incidents.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if filepath.Base(filepath.Dir(path)) == "rules" || strings.Contains(path, filepath.Join("podstate", "testdata")) {
			have[e.Name()] = true
		}
		if strings.HasSuffix(path, "_test.go") {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range function.FindAllStringSubmatch(string(data), -1) {
				have[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`(Test\\w+)`|\\b([a-z]+(?:_[a-zA-Z0-9]+)+)\\b")
	rows := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| #") {
			continue
		}
		rows++
		columns := strings.Split(strings.Trim(line, "|\n "), " | ")
		if len(columns) != 4 {
			t.Errorf("%d columns, want 4: %s", len(columns), line)
			continue
		}
		last := columns[3]
		named := name.FindAllStringSubmatch(last, -1)
		if reason, ok := strings.CutPrefix(last, noTest); ok == (len(named) > 0) || ok && len(strings.Fields(reason)) < 4 {
			t.Errorf("want the names of tests, or %q and a reason: %s", noTest, line)
		}
		for _, m := range named {
			if !have[m[1]+m[2]] {
				t.Errorf("there is no %s: %s", m[1]+m[2], line[:min(len(line), 60)])
			}
		}
	}
	if rows != 34 {
		t.Errorf("%d incidents, want 34", rows)
	}
}
