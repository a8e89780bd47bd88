package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8syaml "sigs.k8s.io/yaml"
)

const (
	// MaxBytes is the most that Load and Convert read. A ConfigMap cannot hold more
	// than half of it.
	MaxBytes = 2 << 20
	// maxNodes bounds the values of one document after its aliases have been
	// followed, which stops alias bombs.
	maxNodes = 200_000
)

// document is one YAML document, twice: as values read the way Kubernetes reads
// YAML (version 1.1, so that "yes" is true), and as nodes that know their lines.
type document struct {
	value any        // of map[string]any, []any, string, bool, json.Number, nil
	node  *yaml.Node // nil for an empty document
	line  int        // lines of the file before the document
}

// checkText refuses what cannot be a policy before anything parses it.
func checkText(data []byte) error {
	switch {
	case len(data) > MaxBytes:
		return fmt.Errorf("is longer than a policy file can be (%d bytes)", MaxBytes)
	case !utf8.Valid(data):
		line := 1
		for rest := data; len(rest) > 0; {
			r, size := utf8.DecodeRune(rest)
			if r == utf8.RuneError && size == 1 {
				break
			}
			if r == '\n' {
				line++
			}
			rest = rest[size:]
		}
		return fmt.Errorf("is not UTF-8 text (line %d)", line)
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("is empty")
	}
	return nil
}

// parseDocuments reads every YAML document in data. line is the number of lines
// of the file before data.
func parseDocuments(data []byte, line int) ([]document, error) {
	var docs []document
	for _, chunk := range splitDocuments(data) {
		doc, err := parseDocument(chunk.text, line+chunk.line)
		if err != nil {
			return nil, err
		}
		if doc.value != nil {
			docs = append(docs, doc)
		}
	}
	return docs, nil
}

type chunk struct {
	text []byte
	line int // lines before it
}

// splitDocuments cuts at lines that begin with "---", which is what YAML says:
// such a line ends a document even inside a quoted or block scalar.
func splitDocuments(data []byte) []chunk {
	var chunks []chunk
	start, startLine, line := 0, 0, 0
	for pos := 0; pos < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		if pos > start && isSeparator(data[pos:end]) {
			chunks = append(chunks, chunk{data[start:pos], startLine})
			start, startLine = pos, line
		}
		pos = end
	}
	return append(chunks, chunk{data[start:], startLine})
}

func isSeparator(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || bytes.ContainsRune([]byte(" \t\r\n"), rune(rest[0])))
}

func parseDocument(text []byte, line int) (document, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return document{}, shiftLines(withLine(err, text), line)
	}
	if len(root.Content) == 0 {
		return document{line: line}, nil
	}
	budget := maxNodes
	if err := spend(&budget, root.Content[0], map[*yaml.Node]bool{}); err != nil {
		return document{}, shiftLines(err, line)
	}
	if problems := notFinite(root.Content[0], nil, line); len(problems) > 0 {
		return document{}, &Error{Problems: problems}
	}
	asJSON, err := k8syaml.YAMLToJSON(text)
	if err != nil {
		return document{}, fmt.Errorf("has no JSON form, which a policy needs: %w", shiftLines(err, line))
	}
	value, err := decodeAny(asJSON)
	if err != nil {
		return document{}, err
	}
	return document{value: value, node: root.Content[0], line: line}, nil
}

// spend takes from budget one for every value below n, following aliases.
func spend(budget *int, n *yaml.Node, open map[*yaml.Node]bool) error {
	*budget--
	if *budget < 0 {
		return fmt.Errorf("line %d: aliases make the document longer than %d values", n.Line, maxNodes)
	}
	if n.Kind == yaml.AliasNode {
		if open[n.Alias] {
			return fmt.Errorf("line %d: anchor %q contains itself", n.Line, n.Value)
		}
		open[n.Alias] = true
		defer delete(open, n.Alias)
		return spend(budget, n.Alias, open)
	}
	for _, c := range n.Content {
		if err := spend(budget, c, open); err != nil {
			return err
		}
	}
	return nil
}

// notFinite finds the numbers below n that JSON, and so Kubernetes, has no form for. Line is the number of lines of the file before the document.
func notFinite(n *yaml.Node, path *field.Path, line int) (problems []Problem) {
	switch n.Kind {
	case yaml.ScalarNode:
		var v float64
		if n.ShortTag() == "!!float" && n.Decode(&v) == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			p := Problem{Line: line + n.Line, Message: fmt.Sprintf("%s is no number here: expected a finite one", n.Value)}
			if path != nil {
				p.Path = path.String()
			}
			return []Problem{p}
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			problems = append(problems, notFinite(c, path.Index(i), line)...)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			problems = append(problems, notFinite(n.Content[i+1], path.Child(n.Content[i].Value), line)...)
		}
	}
	return problems
}

// decodeAny keeps numbers as they are written.
func decodeAny(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// withLine adds the line to a message of the YAML library that lacks it: those about characters do, and those about the first line.
func withLine(err error, text []byte) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	switch {
	case lineNumber.MatchString(message), strings.HasPrefix(message, "unknown anchor"):
		return err
	case strings.HasPrefix(message, "control characters"):
		at := bytes.IndexFunc(text, isForbidden)
		if at < 0 {
			return err
		}
		return fmt.Errorf("yaml: line %d: %s", 1+bytes.Count(text[:at], []byte("\n")), message)
	}
	return fmt.Errorf("yaml: line 1: %s", message)
}

// isForbidden tells the characters that YAML does not allow, quoted or not.
func isForbidden(r rune) bool {
	switch r {
	case '\t', '\n', '\r', 0x85:
		return false
	}
	return r < 0x20 || 0x7f <= r && r < 0xa0 || r == 0xfffe || r == 0xffff
}

// shiftLines makes the line numbers of a library's message lines of the file.
func shiftLines(err error, by int) error {
	return errors.New(lineNumber.ReplaceAllStringFunc(err.Error(), func(m string) string {
		n, err := strconv.Atoi(strings.TrimPrefix(m, "line "))
		if err != nil {
			return m
		}
		return fmt.Sprintf("line %d", n+by)
	}))
}

// find returns the value at path below n and its line in the document: that of
// its key. If there is no such value it returns nil and the line of the closest
// value above. The walk is no longer than the path.
func find(n *yaml.Node, path string) (*yaml.Node, int) {
	if n == nil {
		return nil, 0
	}
	line := n.Line
	for path != "" {
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		key, next, rest := step(n, path)
		if next == nil {
			return nil, line
		}
		line, n, path = key.Line, next, rest
	}
	return n, line
}

// step goes one field or index down. Keys may hold dots and brackets, so the
// longest key of n that path begins with is taken.
func step(n *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	switch n.Kind {
	case yaml.SequenceNode:
		for i, c := range n.Content {
			if after, ok := strings.CutPrefix(path, fmt.Sprintf("[%d]", i)); ok {
				return c, c, after
			}
		}
	case yaml.MappingNode:
		best := -1
		for i := 0; i+1 < len(n.Content); i += 2 {
			after, ok := cutKey(path, n.Content[i].Value)
			// The last of equal keys is the one that counts.
			if ok && len(path)-len(after) >= best {
				key, value, rest, best = n.Content[i], n.Content[i+1], after, len(path)-len(after)
			}
		}
	}
	return key, value, rest
}

func cutKey(path, key string) (rest string, ok bool) {
	for _, form := range []string{"." + key, key, "[" + key + "]"} {
		if rest, ok := strings.CutPrefix(path, form); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return rest, true
		}
	}
	return "", false
}

// duplicate is a key that a mapping holds more than once.
type duplicate struct {
	path  *field.Path
	key   string
	first int // line, relative to the document
	again int
}

// duplicates finds the keys below n that appear twice in one mapping.
func duplicates(n *yaml.Node, path *field.Path) []duplicate {
	var found []duplicate
	switch n.Kind {
	case yaml.SequenceNode:
		for i, c := range n.Content {
			found = append(found, duplicates(c, path.Index(i))...)
		}
	case yaml.MappingNode:
		seen := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if first, ok := seen[key.Value]; ok {
				found = append(found, duplicate{path.Child(key.Value), key.Value, first, key.Line})
			}
			seen[key.Value] = key.Line
			found = append(found, duplicates(n.Content[i+1], path.Child(key.Value))...)
		}
	}
	return found
}
