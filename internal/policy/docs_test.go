package policy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/policy.md")

const (
	docsFile    = "../../docs/policy.md"
	beginMarker = "<!-- generated from the code by go test ./internal/policy -run Reference -update: begin -->\n"
	endMarker   = "<!-- generated: end -->\n"
)

// TestReferenceIsUpToDate keeps the reference part of docs/policy.md what the
// types, their comments and their defaults say.
func TestReferenceIsUpToDate(t *testing.T) {
	text := readFile(t, docsFile)
	before, rest, ok := bytes.Cut(text, []byte(beginMarker))
	got, after, ok2 := bytes.Cut(rest, []byte(endMarker))
	if !ok || !ok2 {
		t.Fatalf("%s has no generated part", docsFile)
	}
	want := newReference(t).render()
	if *update {
		text = slices.Concat(before, []byte(beginMarker), []byte(want), []byte(endMarker), after)
		if err := os.WriteFile(docsFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not what the code says, run with -update (-code +file):\n%s", docsFile, diff)
	}
}

// reference renders types as tables.
type reference struct {
	comments map[string]string // by "Type.Field"
	b        strings.Builder
}

func newReference(t *testing.T) *reference {
	t.Helper()
	r := &reference{comments: map[string]string{}}
	for _, dir := range []string{".", "../strategy"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, r.collect)
		}
	}
	return r
}

// collect notes the comments of struct fields. Fields of one declaration, or
// below one comment without a blank line between, share it.
func (r *reference) collect(n ast.Node) bool {
	spec, ok := n.(*ast.TypeSpec)
	if !ok {
		return true
	}
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return true
	}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			r.comments[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
	}
	return true
}

func (r *reference) render() string {
	fmt.Fprint(&r.b, "\n## Strategies and their arguments\n\n| strategy | runs at | arguments |\n|---|---|---|\n")
	for _, p := range strategy.Plugins() {
		var names []string
		for f := range reflect.TypeOf(p.NewArgs()).Elem().Fields() {
			names = append(names, "`"+jsonName(f)+"`")
		}
		fmt.Fprintf(&r.b, "| [%s](#%s) | %s | %s |\n", p.Name, strings.ToLower(p.Name), p.Point, strings.Join(names, ", "))
	}
	r.section("The top of the policy", reflect.TypeFor[policy.Document](), nil, "apiVersion", "kind", "profiles")
	r.section(policy.EvictorName, reflect.TypeFor[policy.EvictorArgs](), defaultsOf(&policy.EvictorArgs{}))
	for _, p := range strategy.Plugins() {
		args := p.NewArgs()
		r.section(p.Name, reflect.TypeOf(args).Elem(), defaultsOf(args))
	}
	return r.b.String()
}

// defaultsOf returns the defaults, as JSON, by path.
func defaultsOf(args strategy.Args) map[string]string {
	args.SetDefaults()
	data, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	var values map[string]any
	if err := json.Unmarshal(data, &values); err != nil {
		return nil
	}
	flat := map[string]string{}
	flatten(flat, "", values)
	return flat
}

func flatten(flat map[string]string, path string, values map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if nested, ok := values[key].(map[string]any); ok {
			flatten(flat, path+key+".", nested)
			continue
		}
		data, err := json.Marshal(values[key])
		if err == nil {
			flat[path+key] = strings.NewReplacer("2e+09", "2000000000", `"`, "").Replace(string(data))
		}
	}
}

func (r *reference) section(title string, t reflect.Type, defaults map[string]string, skip ...string) {
	fmt.Fprintf(&r.b, "\n### %s\n\n| field | type | default | meaning |\n|---|---|---|---|\n", title)
	r.rows("", t, defaults, skip)
}

func (r *reference) rows(path string, t reflect.Type, defaults map[string]string, skip []string) {
	names := map[string]string{} // of Go fields in JSON, to name them in comments
	for f := range t.Fields() {
		names[f.Name] = "`" + jsonName(f) + "`"
	}
	for f := range t.Fields() {
		name := jsonName(f)
		// What may leave a node can only be narrowed down.
		if slices.Contains(skip, name) || path+name == "evictableNamespaces.include" {
			continue
		}
		kind, nested := typeName(f.Type)
		def := ""
		if d, ok := defaults[path+name]; ok {
			def = "`" + d + "`"
		}
		fmt.Fprintf(&r.b, "| `%s` | %s | %s | %s |\n", path+name, kind, def, r.meaning(t.Name()+"."+f.Name, names))
		if nested != nil {
			prefix := path + name + "."
			if kind == "list" {
				prefix = path + name + "[]."
			}
			r.rows(prefix, nested, defaults, nil)
		}
	}
}

var goName = regexp.MustCompile(`\b[A-Z][A-Za-z]+\b`)

// meaning is a field's comment with the names that files have.
func (r *reference) meaning(key string, names map[string]string) string {
	first := true
	text := goName.ReplaceAllStringFunc(r.comments[key], func(word string) string {
		leading := first
		first = false
		// These are also words and values.
		if name, ok := names[word]; ok && (leading || word != "Prometheus" && word != "URL") {
			return name
		}
		switch word {
		case "NoEvictionPreferred", "NoEvictionMandatory":
			return "`" + strings.TrimPrefix(word, "NoEviction") + "`"
		case "SystemCriticalPriority":
			return "2000000000"
		case "NodeAffinityRequired":
			return "`" + strategy.NodeAffinityRequired + "`"
		case "NodeAffinityPreferred":
			return "`" + strategy.NodeAffinityPreferred + "`"
		}
		return word
	})
	return strings.NewReplacer("|", `\|`, "nil means", "absent means", "PodStates lists the values", "Values: `"+strings.Join(strategy.PodStates(), "`, `")+"`").Replace(text)
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// typeName names a type for people; nested is the struct whose fields come next.
func typeName(t reflect.Type) (name string, nested reflect.Type) {
	switch t {
	case reflect.TypeFor[*metav1.LabelSelector]():
		return "label selector", nil
	case reflect.TypeFor[*metav1.Duration]():
		return "duration, such as `1h30m`", nil
	case reflect.TypeFor[strategy.Thresholds]():
		return "resource: percent", nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Struct:
		return "mapping", t
	case reflect.Slice:
		name, nested := typeName(t.Elem())
		if nested != nil {
			return "list", nested
		}
		return "list of " + name + "s", nil
	case reflect.Bool:
		return "true or false", nil
	case reflect.String:
		return "string", nil
	case reflect.Uint:
		return "whole number, 0 or more", nil
	default:
		return "whole number", nil
	}
}
