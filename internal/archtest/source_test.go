package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sourcePackage is the parsed non-test Go source of one folder.
type sourcePackage struct {
	path  string // relative to the module
	files []*ast.File
	set   *token.FileSet
}

func TestPureSourceHasNoClockAndNoGoroutine(t *testing.T) {
	eachSourcePackage(t, func(t *testing.T, pkg sourcePackage) {
		if !within(pkg.path, core) && !within(pkg.path, queue) {
			return
		}
		report(t, pkg, impure(pkg), "time is data and decisions are made in order: a scenario file gives the same answer for ever")
	})
}

func TestSourceHasNoInitPanicOrMutableGlobal(t *testing.T) {
	eachSourcePackage(t, func(t *testing.T, pkg sourcePackage) {
		if within(pkg.path, support) {
			return
		}
		report(t, pkg, hidden(pkg), "what a program does is to be read from its main function down; state belongs to values, failures to errors")
		report(t, pkg, mutatedGlobals(pkg), "package-level state is shared by every test and goroutine without anybody saying so")
	})
}

func TestSourceRulesFindWhatTheyForbid(t *testing.T) {
	const source = `package x
import ("sync"; clock "time")
var mu sync.Mutex
var table = map[string]int{}
var ErrFine = error(nil)
func init() { panic("no") }
func f() { table["a"] = 1; go f(); _ = clock.Now() }
func g() { table := 1; table++; ErrFine := 2; ErrFine++ }
var _ error = ErrFine
`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "x.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg := sourcePackage{path: "internal/x", files: []*ast.File{file}, set: set}
	var lines []string
	for _, f := range slices.Concat(impure(pkg), hidden(pkg), mutatedGlobals(pkg)) {
		lines = append(lines, fmt.Sprintf("%d: %s", set.Position(f.pos).Line, f.what))
	}
	want := []string{"7: starts a goroutine", "7: calls time.Now", "6: declares init", "6: calls panic", "3: mu is a sync.Mutex at package level", "7: changes the package-level variable table"}
	if !slices.Equal(lines, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

type finding struct {
	pos  token.Pos
	what string
}

func report(t *testing.T, pkg sourcePackage, findings []finding, why string) {
	t.Helper()
	for _, f := range findings {
		t.Errorf("%s %s\n\treason for the rule: %s", pkg.set.Position(f.pos), f.what, why)
	}
}

// impure finds clock reads and goroutines.
func impure(pkg sourcePackage) []finding {
	var found []finding
	for _, file := range pkg.files {
		clock := importName(file, "time")
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.GoStmt:
				found = append(found, finding{node.Pos(), "starts a goroutine"})
			case *ast.SelectorExpr:
				if id, ok := node.X.(*ast.Ident); ok && clock != "" && id.Name == clock && slices.Contains(clockFunctions(), node.Sel.Name) {
					found = append(found, finding{node.Pos(), "calls time." + node.Sel.Name})
				}
			}
			return true
		})
	}
	return found
}

// hidden finds init functions and calls of panic.
func hidden(pkg sourcePackage) []finding {
	var found []finding
	for _, file := range pkg.files {
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncDecl:
				if node.Recv == nil && node.Name.Name == "init" {
					found = append(found, finding{node.Pos(), "declares init"})
				}
			case *ast.CallExpr:
				if id, ok := node.Fun.(*ast.Ident); ok && id.Name == "panic" && id.Obj == nil {
					found = append(found, finding{node.Pos(), "calls panic"})
				}
			}
			return true
		})
	}
	return found
}

// importName returns the name under which the file uses a package, or "".
func importName(file *ast.File, path string) string {
	for _, spec := range file.Imports {
		if spec.Path.Value != `"`+path+`"` {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndex(path, "/")+1:]
	}
	return ""
}

// eachSourcePackage parses internal/ and cmd/ and calls check in a subtest for
// every folder with Go source. Files of all systems are read.
func eachSourcePackage(t *testing.T, check func(*testing.T, sourcePackage)) {
	t.Helper()
	folders := map[string][]string{}
	for _, name := range repositoryFiles(t) {
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && within(name, []string{"internal", "cmd"}) {
			folders[filepath.ToSlash(filepath.Dir(name))] = append(folders[filepath.ToSlash(filepath.Dir(name))], name)
		}
	}
	for folder, names := range folders {
		t.Run(folder, func(t *testing.T) {
			pkg := sourcePackage{path: folder, set: token.NewFileSet()}
			for _, name := range names {
				file, err := parser.ParseFile(pkg.set, filepath.Join(root, name), nil, parser.ParseComments)
				if err != nil {
					t.Fatal(err)
				}
				pkg.files = append(pkg.files, file)
			}
			check(t, pkg)
		})
	}
}
