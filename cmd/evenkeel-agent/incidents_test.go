package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryIncidentNamesTestsThatExist holds docs/incidents.md against the tests
// and scenario files of the repository.
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
		for _, m := range name.FindAllStringSubmatch(line, -1) {
			if !have[m[1]+m[2]] {
				t.Errorf("there is no %s: %s", m[1]+m[2], line[:min(len(line), 60)])
			}
		}
	}
	if rows != 34 {
		t.Errorf("%d incidents, want 34", rows)
	}
}
