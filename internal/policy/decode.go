package policy

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/internal/strategy"
)

// draft is a policy whose fields have been looked at one by one.
type draft struct {
	doc *Document
	// fits says that everything outside args has the right type.
	fits bool
	// configs holds, for every profile, its pluginConfig entries.
	configs [][]config
}

// config is one pluginConfig entry.
type config struct {
	path *field.Path
	name string
	// args is defaulted, of type *EvictorArgs for DefaultEvictor, and nil for a
	// plugin that there is not.
	args strategy.Args
}

// decode holds the source against the types and returns what it says; what does
// not fit is reported and left out. It returns nil if nothing else is worth
// looking at.
func decode(f *findings) *draft {
	if !checkHeader(f) {
		return nil
	}
	dropPreEvictionFilter(f)
	reportDuplicates(f)
	d := &draft{doc: &Document{}, fits: true}
	shape{
		unknown: func(path *field.Path, key string, parent map[string]any, t reflect.Type) {
			f.warn(path, "unknown field, ignored%s", misplacedHint(key, parent, t))
		},
		wrong: func(path *field.Path, message string) {
			d.fits = false
			f.problem(path, "%s", message)
		},
	}.check(f.src.prefix, f.src.value, reflect.TypeFor[Document]())
	d.configs = decodeConfigs(f)
	raw, err := json.Marshal(f.src.value)
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

// dropPreEvictionFilter takes out plugins.preEvictionFilter, which documentation
// and users write for preevictionfilter. The descheduler ignores it, and nothing
// is lost: all it could say is that DefaultEvictor, which always runs, runs.
func dropPreEvictionFilter(f *findings) {
	const key, real = "preEvictionFilter", "preevictionfilter"
	profiles, _ := f.src.value["profiles"].([]any)
	for i, p := range profiles {
		profile, _ := p.(map[string]any)
		plugins, _ := profile["plugins"].(map[string]any)
		v, ok := plugins[key]
		if !ok {
			continue
		}
		delete(plugins, key)
		set, _ := v.(map[string]any)
		enabled, isList := set["enabled"].([]any)
		onlyEvictor := !slices.ContainsFunc(enabled, func(name any) bool { return name != EvictorName })
		if v != nil && (set == nil || set["enabled"] != nil && !isList || !onlyEvictor) {
			f.warn(f.src.prefix.Child("profiles").Index(i).Child("plugins", key),
				"ignored: only %s runs there, and it always does; the field's real name is %s", EvictorName, real)
		}
	}
}

var insideArgs = regexp.MustCompile(`^profiles\[\d+\]\.pluginConfig\[\d+\]\.args\.`)

// reportDuplicates makes a key given twice an error inside args and a warning
// elsewhere, where the descheduler takes the last one.
func reportDuplicates(f *findings) {
	for _, p := range f.twice() {
		inPolicy := strings.TrimPrefix(strings.TrimPrefix(p.Path, f.src.prefixString()), ".")
		if insideArgs.MatchString(inPolicy) {
			f.problems = append(f.problems, p)
			continue
		}
		p.Message += ", the last one counts"
		f.warnings = append(f.warnings, Warning(p))
	}
}

// twice finds the keys that a mapping of the policy holds more than once.
func (f *findings) twice() (found []Problem) {
	root, before := f.src.root()
	if root == nil {
		return nil
	}
	for _, d := range duplicates(root, f.src.prefix) {
		p := Problem{Path: d.path.String(), Line: f.src.line, Message: "the key is given twice"}
		if p.Line == 0 {
			p.Line = before + d.again
		}
		found = append(found, p)
	}
	return found
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

// decodeArgs returns the defaulted arguments of an entry, without what is wrong
// with them.
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
	path := c.path.Child("args")
	lintNulls(f, path, raw)
	var misfits []string
	fits := shape{
		unknown: func(path *field.Path, key string, _ map[string]any, t reflect.Type) {
			misfits = append(misfits, path.String())
			f.problem(path, "unknown field %q of %s%s", key, c.name, unknownArgHint(key, t))
		},
		wrong: func(path *field.Path, message string) {
			misfits = append(misfits, path.String())
			f.problem(path, "%s", message)
		},
	}.check(path, raw, reflect.TypeOf(args).Elem())
	if !fits {
		return args
	}
	if err := fill(args, raw); err != nil {
		f.problem(path, "%v", err)
		return args
	}
	args.SetDefaults()
	f.invalid(withoutConsequences(args.Validate(path), misfits))
	return args
}

// withoutConsequences leaves out what validation only found because a value at, below
// or above the same place had been taken out.
func withoutConsequences(errs field.ErrorList, misfits []string) field.ErrorList {
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		return slices.ContainsFunc(misfits, func(m string) bool {
			return strings.HasPrefix(m, e.Field) || strings.HasPrefix(e.Field, m)
		})
	})
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
