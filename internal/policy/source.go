package policy

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The identity of a policy document.
const (
	// APIVersion is the version of policy documents that Load reads.
	APIVersion = "descheduler/v1alpha2"
	// OldAPIVersion is the version that Convert reads.
	OldAPIVersion = "descheduler/v1alpha1"
	// Kind is the kind of policy documents of either version.
	Kind = "DeschedulerPolicy"
)

// helmKey and helmVersionKey are the values of the descheduler's Helm chart that
// hold the policy and its API version.
const (
	helmKey        = "deschedulerPolicy"
	helmVersionKey = "deschedulerPolicyAPIVersion"
)

// maxWrapping is how many mappings deep a Helm value is looked for; a
// HelmRelease or a parent chart adds two or three.
const maxWrapping = 8

// source is the one policy found in a file.
type source struct {
	name   string         // the file, for messages
	prefix *field.Path    // where in the file the policy is; nil at the top
	value  map[string]any // the policy
	doc    document       // the YAML document it is in
	inner  document       // of doc's string value at prefix; only in a ConfigMap
	line   int            // the line to give for everything, if 0 is not it
}

// findSource finds the policy in a file. The error is an *Error.
func findSource(name string, data []byte) (*source, error) {
	found, seen, err := findPolicies(data)
	var known *Error
	switch {
	case errors.As(err, &known):
		return nil, &Error{Name: name, Problems: known.Problems}
	case err != nil:
	case len(found) == 1:
		found[0].name = name
		return found[0], nil
	case len(found) == 0:
		err = fmt.Errorf("holds no %s, only %s", Kind, strings.Join(seen, ", "))
	default:
		places := make([]string, len(found))
		for i, s := range found {
			places[i] = fmt.Sprintf("line %d", s.lineOf(s.prefixString()))
		}
		err = fmt.Errorf("holds %d policies where one is expected: %s", len(found), strings.Join(places, ", "))
	}
	return nil, &Error{Name: name, Problems: []Problem{{Message: err.Error()}}}
}

// findPolicies returns every policy in data and the kinds of all else it holds.
func findPolicies(data []byte) (found []*source, seen []string, err error) {
	if err := checkText(data); err != nil {
		return nil, nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	docs, err := parseDocuments(data, 0)
	if err != nil {
		return nil, nil, err
	}
	if len(docs) == 0 {
		return nil, nil, errors.New("is empty")
	}
	for _, doc := range docs {
		s, err := findInDocument(doc)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, s...)
		if kind := describeKind(doc.value); len(s) == 0 && !slices.Contains(seen, kind) {
			seen = append(seen, kind)
		}
	}
	return found, seen, nil
}

func describeKind(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return describe(v)
	}
	if kind, ok := m["kind"].(string); ok && kind != "" {
		return kind
	}
	return "a mapping without apiVersion and kind"
}

func findInDocument(doc document) ([]*source, error) {
	m, ok := doc.value.(map[string]any)
	if !ok {
		return nil, nil
	}
	switch kind := m["kind"]; {
	case isPolicy(m):
		return []*source{{value: m, doc: doc}}, nil
	case kind == "ConfigMap":
		return findInConfigMap(doc, m, nil)
	case kind == "List" || kind == "ConfigMapList":
		return findInList(doc, m)
	default:
		return findHelmValues(doc, m, nil, maxWrapping), nil
	}
}

// isPolicy recognises a policy even if its version or kind is missing or wrong,
// so that the message can be about that.
func isPolicy(m map[string]any) bool {
	version, _ := m["apiVersion"].(string)
	if m["kind"] == Kind || strings.HasPrefix(version, "descheduler/") {
		return true
	}
	_, hasKind := m["kind"]
	_, hasProfiles := m["profiles"]
	_, hasStrategies := m["strategies"]
	return !hasKind && (hasProfiles || hasStrategies)
}

func findInList(doc document, m map[string]any) ([]*source, error) {
	items, _ := m["items"].([]any)
	var found []*source
	for i, item := range items {
		cm, ok := item.(map[string]any)
		if !ok || cm["kind"] != "ConfigMap" {
			continue
		}
		s, err := findInConfigMap(doc, cm, field.NewPath("items").Index(i))
		if err != nil {
			return nil, err
		}
		found = append(found, s...)
	}
	return found, nil
}

// findInConfigMap looks into the values that speak of a policy.
func findInConfigMap(doc document, m map[string]any, path *field.Path) ([]*source, error) {
	data, _ := m["data"].(map[string]any)
	var found []*source
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text, ok := data[key].(string)
		if !ok || !strings.Contains(text, Kind) {
			continue
		}
		at := path.Child("data").Key(key)
		node, line := find(doc.node, at.String())
		line += doc.line
		// Only a literal block has the same lines inside as outside, beginning
		// after its key's.
		only := line
		if node != nil && node.Style&yaml.LiteralStyle != 0 {
			only = 0
		}
		inner, err := parseDocuments([]byte(text), line)
		var known *Error
		if errors.As(err, &known) {
			return nil, known.under(at, only)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		for _, d := range inner {
			if v, ok := d.value.(map[string]any); ok && isPolicy(v) {
				found = append(found, &source{prefix: at, value: v, doc: doc, inner: d, line: only})
			}
		}
	}
	return found, nil
}

// findHelmValues finds deschedulerPolicy and gives it the header that the chart
// would.
func findHelmValues(doc document, m map[string]any, path *field.Path, depth int) []*source {
	if depth == 0 {
		return nil
	}
	var found []*source
	for _, key := range slices.Sorted(maps.Keys(m)) {
		v, ok := m[key].(map[string]any)
		if !ok {
			continue
		}
		at := path.Child(key)
		if key == helmKey {
			found = append(found, &source{prefix: at, value: withHeader(v, m[helmVersionKey]), doc: doc})
			continue
		}
		found = append(found, findHelmValues(doc, v, at, depth-1)...)
	}
	return found
}

func withHeader(body map[string]any, version any) map[string]any {
	_, hasStrategies := body["strategies"].(map[string]any)
	_, hasProfiles := body["profiles"]
	if version == nil {
		version = APIVersion
		if hasStrategies && !hasProfiles {
			version = OldAPIVersion
		}
	}
	full := map[string]any{"apiVersion": version, "kind": Kind}
	maps.Copy(full, body)
	return full
}

// lineOf returns the line of the file at which the value at path is, or the
// closest value above it; 0 if there is none.
func (s *source) lineOf(path string) int {
	doc := s.doc
	switch {
	case s.line > 0:
		return s.line
	case s.inner.node != nil:
		doc, path = s.inner, strings.TrimPrefix(path, s.prefixString())
	}
	if _, n := find(doc.node, path); n > 0 {
		return doc.line + n
	}
	return 0
}

func (s *source) prefixString() string {
	if s.prefix == nil {
		return ""
	}
	return s.prefix.String()
}

// root is the YAML node of the policy itself, nil if it cannot be told, and the
// number of lines before its document.
func (s *source) root() (node *yaml.Node, before int) {
	if s.inner.node != nil {
		return s.inner.node, s.inner.line
	}
	node, _ = find(s.doc.node, s.prefixString())
	return node, s.doc.line
}
