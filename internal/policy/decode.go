package policy

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/internal/strategy"
)

// draft is a policy whose fields are right one by one.
type draft struct {
	doc *Document
	// configs holds, for every profile, its pluginConfig entries; args is nil
	// where an entry has problems.
	configs [][]config
}

// config is one pluginConfig entry.
type config struct {
	path *field.Path
	name string
	args strategy.Args // defaulted; *EvictorArgs for DefaultEvictor
}

// decode holds the source against the types and returns what it says, or nil if
// it has problems that leave nothing to go on with.
func decode(f *findings) *draft {
	if !checkHeader(f) {
		return nil
	}
	foldPreEvictionFilter(f)
	reportDuplicates(f)
	before := len(f.problems)
	shape{
		unknown: func(path *field.Path, key string, t reflect.Type) {
			f.warn(path, "%s means nothing here and is ignored%s", key, misplacedHint(key, t))
		},
		wrong: func(path *field.Path, message string) { f.problem(path, "%s", message) },
	}.check(f.src.prefix, f.src.value, reflect.TypeFor[Document]())
	fits := len(f.problems) == before

	d := &draft{configs: decodeConfigs(f)}
	if !fits {
		return nil
	}
	d.doc = &Document{}
	raw, err := f.src.raw()
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, d.doc)
	}
	if err != nil {
		f.problem(f.src.prefix, "%v", err)
		return nil
	}
	return d
}

// checkHeader says whether the rest of the document is worth looking at.
func checkHeader(f *findings) bool {
	version, kind := f.src.value["apiVersion"], f.src.value["kind"]
	ok := true
	if kind != Kind {
		f.problem(f.src.prefix.Child("kind"), "expected %q, got %s", Kind, describe(kind))
		ok = false
	}
	switch version {
	case APIVersion:
	case OldAPIVersion:
		f.problem(f.src.prefix.Child("apiVersion"),
			"%s is no longer supported, expected %s: translate the file with \"evenkeel policy convert\"", OldAPIVersion, APIVersion)
		ok = false
	default:
		f.problem(f.src.prefix.Child("apiVersion"), "expected %q, got %s", APIVersion, describe(version))
		ok = false
	}
	return ok
}

// foldPreEvictionFilter renames plugins.preEvictionFilter, which documentation
// and users write, to the key there really is.
func foldPreEvictionFilter(f *findings) {
	const real = "preevictionfilter"
	profiles, _ := f.src.value["profiles"].([]any)
	for i, p := range profiles {
		profile, _ := p.(map[string]any)
		plugins, _ := profile["plugins"].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(plugins)) {
			if key == real || !strings.EqualFold(key, real) {
				continue
			}
			if _, both := plugins[real]; both {
				f.warn(f.src.prefix.Child("profiles").Index(i).Child("plugins", key), "is ignored beside %s", real)
			} else {
				plugins[real] = plugins[key]
			}
			delete(plugins, key)
		}
	}
}

var insideArgs = regexp.MustCompile(`^profiles\[\d+\]\.pluginConfig\[\d+\]\.args\.`)

// reportDuplicates makes a key given twice an error inside args and a warning
// elsewhere, where the descheduler takes the last one.
func reportDuplicates(f *findings) {
	root, before := f.src.root()
	if root == nil {
		return
	}
	for _, d := range duplicates(root, f.src.prefix) {
		inPolicy := strings.TrimPrefix(strings.TrimPrefix(d.path.String(), f.src.prefixString()), ".")
		p := Problem{Path: d.path.String(), Line: f.src.line}
		if p.Line == 0 {
			p.Line = before + d.again
		}
		if insideArgs.MatchString(inPolicy) {
			p.Message = "the key is given twice"
			f.problems = append(f.problems, p)
			continue
		}
		p.Message = "the key is given twice, the last one counts"
		f.warnings = append(f.warnings, Warning(p))
	}
}

// decodeConfigs decodes every pluginConfig entry that can be found, whatever
// else may be wrong with the document.
func decodeConfigs(f *findings) [][]config {
	profiles, _ := f.src.value["profiles"].([]any)
	all := make([][]config, len(profiles))
	for i, p := range profiles {
		profile, _ := p.(map[string]any)
		entries, _ := profile["pluginConfig"].([]any)
		for j, e := range entries {
			entry, _ := e.(map[string]any)
			c := config{path: f.src.prefix.Child("profiles").Index(i).Child("pluginConfig").Index(j)}
			c.name, _ = entry["name"].(string)
			c.args = decodeArgs(f, c, entry["args"])
			all[i] = append(all[i], c)
		}
	}
	return all
}

// decodeArgs returns the defaulted arguments of an entry, or nil if there is
// something wrong with them.
func decodeArgs(f *findings, c config, raw any) strategy.Args {
	if c.name == "" {
		f.problem(c.path.Child("name"), "the plugin's name is missing")
		return nil
	}
	args := newArgs(c.name)
	if args == nil {
		f.problem(c.path.Child("name"), "there is no plugin %q%s", c.name, pluginHint(c.name))
		return nil
	}
	before, path := len(f.problems), c.path.Child("args")
	shape{
		unknown: func(path *field.Path, key string, t reflect.Type) {
			f.problem(path, "unknown field %q of %s%s", key, c.name, unknownArgHint(key, t))
		},
		wrong: func(path *field.Path, message string) { f.problem(path, "%s", message) },
	}.check(path, raw, reflect.TypeOf(args).Elem())
	if len(f.problems) > before {
		return nil
	}
	if err := fill(args, raw); err != nil {
		f.problem(path, "%v", err)
		return nil
	}
	args.SetDefaults()
	f.invalid(args.Validate(path))
	return args
}

// fill decodes a value that was read from a file into args.
func fill(args strategy.Args, raw any) error {
	if raw == nil {
		return nil
	}
	data, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, args)
}

// pluginHint names the plugin that was meant, or all there are.
func pluginHint(name string) string {
	names := pluginNames()
	if hint := didYouMean(name, names); hint != "" {
		return hint
	}
	return ", there are " + strings.Join(names, ", ")
}
