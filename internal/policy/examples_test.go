package policy_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
)

const examplesDir = "../../examples/policies"

// TestExamplesLoadWithoutAWarning: what users copy has nothing odd about it.
func TestExamplesLoadWithoutAWarning(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examplesDir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, warnings, err := policy.Load(file, readFile(t, file))
			if err := policy.Strict(file, warnings, err); err != nil {
				t.Fatal(err)
			}
			if len(p.Profiles) == 0 {
				t.Error("no profiles")
			}
		})
	}
}

// TestEveryFieldExampleHasEveryField compares the example with the types.
func TestEveryFieldExampleHasEveryField(t *testing.T) {
	doc, _, err := policy.Decode("every-field.yaml", readFile(t, filepath.Join(examplesDir, "every-field.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]map[string]bool{}
	for _, profile := range doc.Profiles {
		for _, c := range profile.PluginConfig {
			var args map[string]any
			if err := json.Unmarshal(c.Args, &args); err != nil {
				t.Fatal(err)
			}
			if used[c.Name] == nil {
				used[c.Name] = map[string]bool{}
			}
			for key := range args {
				used[c.Name][key] = true
			}
		}
	}
	plugins := map[string]any{policy.EvictorName: &policy.EvictorArgs{}}
	for _, p := range strategy.Plugins() {
		plugins[p.Name] = p.NewArgs()
	}
	// These two exclude others, or have an example of their own.
	delete(plugins, "HighNodeUtilization")
	used["RemovePodsViolatingNodeTaints"]["excludedTaints"] = true
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		for f := range reflect.TypeOf(plugins[name]).Elem().Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !used[name][key] {
				t.Errorf("%s has no %s", name, key)
			}
		}
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
