package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// listed is what the go command says about one package, test files left out.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

func TestImportRules(t *testing.T) {
	for _, system := range []string{"linux", "windows"} {
		t.Run(system, func(t *testing.T) {
			packages := listPackages(t, system)
			for _, rule := range importRules() {
				checkRule(t, packages, rule)
			}
		})
	}
}

func TestImportRulesFindAForbiddenChain(t *testing.T) {
	packages := map[string]listed{
		module + "/internal/pace":  {Imports: []string{"time", module + "/internal/x"}},
		module + "/internal/x":     {Imports: []string{"example.org/y", "fmt"}},
		"example.org/y":            {Imports: []string{"k8s.io/api/core/v1"}},
		"fmt":                      {Standard: true, Imports: []string{"os"}},
		"k8s.io/api/core/v1":       {},
		module + "/internal/kube":  {Imports: []string{module + "/internal/evict"}},
		module + "/internal/evict": {},
	}
	got := chain(packages, module+"/internal/pace", []string{"k8s.io"})
	want := []string{module + "/internal/pace", module + "/internal/x", "example.org/y", "k8s.io/api/core/v1"}
	if !slices.Equal(got, want) {
		t.Errorf("chain to k8s.io: got %v, want %v", got, want)
	}
	if got := chain(packages, module+"/internal/pace", []string{"os"}); got != nil {
		t.Errorf("the standard library's own import of os was counted: %v", got)
	}
	if got := directImport(packages[module+"/internal/kube"], adapters); got != module+"/internal/evict" {
		t.Errorf("direct import of another adapter: got %q", got)
	}
}

func checkRule(t *testing.T, packages map[string]listed, rule importRule) {
	t.Helper()
	for path, pkg := range packages {
		if !strings.HasPrefix(path, module+"/") || !within(path, rule.packages) {
			continue
		}
		if found := directImport(pkg, rule.direct); found != "" && !sameBranch(path, found, rule.direct) {
			t.Errorf("%s imports %s\n\treason for the rule: %s", path, found, rule.why)
		}
		if found := chain(packages, path, rule.reach); found != nil {
			t.Errorf("import chain: %s\n\treason for the rule: %s", strings.Join(found, "\n\t  → "), rule.why)
		}
	}
}

// directImport returns the first import that is one of names, or "".
func directImport(pkg listed, names []string) string {
	for _, path := range pkg.Imports {
		if within(path, names) {
			return path
		}
	}
	return ""
}

// sameBranch says whether both packages lie below the same one of names: an
// adapter may be split into several packages.
func sameBranch(a, b string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return within(a, []string{name}) && within(b, []string{name})
	})
}

// chain returns the shortest chain of imports from a package to one of names,
// or nil. Packages below the start's own matching name do not count.
func chain(packages map[string]listed, start string, names []string) []string {
	before := map[string]string{start: ""}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		if path != start && within(path, names) && !sameBranch(start, path, names) {
			return walkBack(before, path)
		}
		if packages[path].Standard {
			continue
		}
		for _, next := range packages[path].Imports {
			if _, seen := before[next]; !seen {
				before[next] = path
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func walkBack(before map[string]string, path string) []string {
	var found []string
	for ; path != ""; path = before[path] {
		found = append(found, path)
	}
	slices.Reverse(found)
	return found
}

func listPackages(t *testing.T, system string) map[string]listed {
	t.Helper()
	command := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Standard,Imports", "./internal/...", "./cmd/...")
	command.Dir = root
	command.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	var complaints strings.Builder
	command.Stderr = &complaints
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	packages := map[string]listed{}
	for decoder := json.NewDecoder(output); ; {
		var pkg listed
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("reading go list's output: %v", err)
		}
		packages[pkg.ImportPath] = pkg
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("go list: %v\n%s", err, complaints.String())
	}
	return packages
}
