package archtest

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository's root, seen from this package.
const root = "../.."

const maxLines = 400

func TestNoMachinePathsOrRegistryHosts(t *testing.T) {
	// written so that this file does not find itself
	machine := regexp.MustCompile(`(^|[\s"'=(:\x60])/(` + strings.Join([]string{"wor" + "k", "roo" + "t", "hom" + "e/[a-z]+"}, "|") + `)/`)
	hosts := regexp.MustCompile(strings.Join([]string{"proxy" + `\.golang\.org`, "deb" + `\.debian\.org`, "registry" + `\.npmjs\.org`}, "|"))
	for _, name := range repositoryFiles(t) {
		data := readFile(t, name)
		if bytes.IndexByte(data, 0) >= 0 || strings.HasSuffix(name, "go.sum") {
			continue
		}
		for i, line := range strings.Split(string(data), "\n") {
			if found := machine.FindString(line); found != "" {
				t.Errorf("%s:%d: names a folder of somebody's machine (%s): paths must hold for every reader", name, i+1, strings.TrimSpace(found))
			}
			if found := hosts.FindString(line); found != "" {
				t.Errorf("%s:%d: names a registry's host (%s): where packages come from is up to the machine", name, i+1, found)
			}
		}
	}
}

func TestGoFilesAreFormattedAndShort(t *testing.T) {
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		data := readFile(t, name)
		if formatted, err := format.Source(data); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !bytes.Equal(formatted, data) {
			t.Errorf("%s: not formatted: run gofmt", name)
		}
		generated := bytes.Contains(data, []byte("// Code generated "))
		if lines := bytes.Count(data, []byte("\n")); lines > maxLines && !generated && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s: %d lines, at most %d: a file is about one thing", name, lines, maxLines)
		}
	}
}

func TestGoFilesOfOneFolderHaveAPackageComment(t *testing.T) {
	eachSourcePackage(t, func(t *testing.T, pkg sourcePackage) {
		for _, file := range pkg.files {
			if file.Doc != nil {
				return
			}
		}
		t.Errorf("%s has no package comment: say what it is for and what it promises", pkg.path)
	})
}

// repositoryFiles lists the repository's files with their paths relative to
// the root, without what builds leave behind.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	leftOvers := []string{".git", "bin", "dist", ".cache", "node_modules"}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(leftOvers, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.Type().IsRegular() {
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
