package snapfile

import (
	"errors"
	"math"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
)

// notFinite is the error for a number that JSON has no form for.
type notFinite struct {
	path, value string
	line        int // counted from 0
}

func (e *notFinite) Error() string { return e.path + ": " + e.value + ": " + errNotFinite.Error() }

var errNotFinite = errors.New("expected a finite number")

// findNotFinite finds the first number in YAML that JSON has no form for, or nil.
func findNotFinite(text []byte) *notFinite {
	var root yamlnode.Node
	if yamlnode.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return nil
	}
	return notFiniteBelow(root.Content[0], "")
}

func notFiniteBelow(n *yamlnode.Node, path string) *notFinite {
	switch n.Kind {
	case yamlnode.ScalarNode:
		var v float64
		if n.ShortTag() == "!!float" && n.Decode(&v) == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			return &notFinite{path: strings.TrimPrefix(path, "."), value: n.Value, line: n.Line - 1}
		}
	case yamlnode.SequenceNode:
		for i, c := range n.Content {
			if found := notFiniteBelow(c, path+index(i)); found != nil {
				return found
			}
		}
	case yamlnode.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if found := notFiniteBelow(n.Content[i+1], path+key(n.Content[i].Value)); found != nil {
				return found
			}
		}
	}
	return nil
}
