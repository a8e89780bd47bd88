package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/strategy"
)

// closest returns the candidate that name was probably meant to be, or "".
func closest(name string, candidates []string) string {
	best, bestDistance := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		if strings.EqualFold(c, name) {
			return c
		}
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best != "" {
		return best
	}
	// Plugins used to have shorter names.
	i := slices.IndexFunc(candidates, func(c string) bool {
		return len(name) >= 8 && strings.Contains(strings.ToLower(c), strings.ToLower(name))
	})
	if i < 0 {
		return ""
	}
	return candidates[i]
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour to get from a to b. Names longer than any real one are taken
// as unlike everything.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// didYouMean is ", did you mean X?" or "".
func didYouMean(name string, candidates []string) string {
	if c := closest(name, candidates); c != "" {
		return fmt.Sprintf(", did you mean %s?", c)
	}
	return ""
}

// pluginNames returns the names that pluginConfig entries can have.
func pluginNames() []string {
	names := []string{EvictorName}
	for _, p := range strategy.Plugins() {
		names = append(names, p.Name)
	}
	return names
}

// newArgs returns empty arguments for a plugin name, nil if there is no such plugin.
func newArgs(name string) strategy.Args {
	if name == EvictorName {
		return &EvictorArgs{}
	}
	if p, ok := strategy.LookupPlugin(name); ok {
		return p.NewArgs()
	}
	return nil
}

// argNames returns the names of a plugin's arguments.
func argNames(plugin string) []string {
	args := newArgs(plugin)
	if args == nil {
		return nil
	}
	return fieldNames(reflect.TypeOf(args).Elem())
}

// ownersOf returns the plugins that have an argument of that name.
func ownersOf(arg string) []string {
	var owners []string
	for _, name := range pluginNames() {
		if slices.Contains(argNames(name), arg) {
			owners = append(owners, name)
		}
	}
	return owners
}

// renamed says what became of the parameters that v1alpha1 had and v1alpha2 has
// not, or "".
func renamed(key string) string {
	switch key {
	case "includeSoftConstraints":
		return "v1alpha2 writes constraints: [DoNotSchedule, ScheduleAnyway]"
	case "podStatusPhases":
		return "v1alpha2 writes states"
	case "thresholdPriority":
		return "v1alpha2 writes priorityThreshold.value in the args of DefaultEvictor"
	case "thresholdPriorityClassName":
		return "v1alpha2 writes priorityThreshold.name in the args of DefaultEvictor"
	case "nodeResourceUtilizationThresholds", "podLifeTime", "podsHavingTooManyRestarts", "removeDuplicates", "failedPods":
		return "v1alpha2 writes its fields directly under args"
	}
	return ""
}

// unknownArgHint says what an unknown key inside the args of a plugin was
// probably meant to be, as ", …" or "". t is the struct that the key was found in.
func unknownArgHint(key string, t reflect.Type) string {
	if r := renamed(key); r != "" {
		return ": " + r
	}
	names := fieldNames(t)
	if hint := didYouMean(key, names); hint != "" {
		return hint
	}
	if owners := ownersOf(key); len(owners) > 0 && len(owners) <= 3 {
		return ", it is an argument of " + strings.Join(owners, ", ")
	}
	return ", there are " + strings.Join(names, ", ")
}

// misplacedHint says where a key that was found outside args and means nothing
// there probably belongs, as ": …" or "". parent is the mapping that holds it and
// t the type of that.
func misplacedHint(key string, parent map[string]any, t reflect.Type) string {
	if c := closest(key, fieldNames(t)); strings.EqualFold(c, key) {
		return fmt.Sprintf(": upper and lower case matter, write %s", c)
	}
	if t == reflect.TypeFor[PluginConfig]() {
		return entryHint(key, parent)
	}
	if owners := ownersOf(key); len(owners) > 0 {
		if slices.Contains(owners, EvictorName) {
			owners = []string{EvictorName}
		}
		if len(owners) > 3 {
			return ": write it under the args of each plugin it is meant for"
		}
		return ": write it under the args of " + strings.Join(owners, " or ")
	}
	switch {
	case slices.Contains(fieldNames(reflect.TypeFor[Document]()), key):
		return ": it belongs at the top of the policy"
	case slices.Contains(fieldNames(reflect.TypeFor[DocumentProfile]()), key):
		return ": it belongs into an entry of profiles"
	case key == "strategies":
		return ": it is of v1alpha1, v1alpha2 has profiles"
	}
	if r := renamed(key); r != "" {
		return ": " + r
	}
	return didYouMean(key, fieldNames(t))
}

// entryHint is misplacedHint for a key beside name and args in a pluginConfig
// entry.
func entryHint(key string, entry map[string]any) string {
	name, _ := entry["name"].(string)
	if key == "pluginConfig" {
		return ": write args here"
	}
	if c := closest(key, argNames(name)); c != "" {
		return fmt.Sprintf(": write %s under args", c)
	}
	if slices.Contains(argNames(EvictorName), key) {
		return ": write it under the args of " + EvictorName
	}
	return didYouMean(key, fieldNames(reflect.TypeFor[PluginConfig]()))
}
