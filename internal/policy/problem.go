package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Problem is one reason why a policy file cannot be used.
type Problem struct {
	// Path is the field, such as "profiles[0].pluginConfig[2].args.thresholds",
	// as seen from the top of the file; empty for the file as a whole.
	Path string `json:"path,omitempty"`
	// Line is the line of the file, counted from 1; 0 where it is not known.
	Line int `json:"line,omitempty"`
	// Message says what is wrong and, where it can, what was expected.
	Message string `json:"message"`
}

// String renders the problem on one line.
func (p Problem) String() string {
	s := p.Message
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Line > 0 {
		s = fmt.Sprintf("%s (line %d)", s, p.Line)
	}
	return harmless(s)
}

// harmless writes out what a terminal would obey, which keys and values of a file may hold.
func harmless(s string) string {
	if !strings.ContainsFunc(s, isUnprintable) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isUnprintable(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isUnprintable: spaces other than " " are, and so is what turns the direction of writing.
func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

// Warning is something in a usable policy file that does not do what whoever
// wrote it must have meant.
type Warning Problem

// String renders the warning on one line.
func (w Warning) String() string { return Problem(w).String() }

// Error is every problem of one file, in the order of its lines.
type Error struct {
	Name     string
	Problems []Problem
}

// Error renders one line per problem: "file: path: message (line n)".
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = e.Name + ": " + p.String()
	}
	return strings.Join(lines, "\n")
}

// under puts the problems below a field of the file, and in a line of it unless that is 0.
func (e *Error) under(path *field.Path, line int) *Error {
	for i := range e.Problems {
		p := &e.Problems[i]
		p.Path = path.String() + "." + p.Path
		if line > 0 {
			p.Line = line
		}
	}
	return e
}

// Strict makes warnings errors: it returns err with the warnings of the same
// file added to its problems, or nil if there is neither.
func Strict(name string, warnings []Warning, err error) error {
	if len(warnings) == 0 {
		return err
	}
	all := &Error{Name: name}
	var known *Error
	switch {
	case errors.As(err, &known):
		all.Problems = append(all.Problems, known.Problems...)
	case err != nil:
		all.Problems = append(all.Problems, Problem{Message: err.Error()})
	}
	for _, w := range warnings {
		all.Problems = append(all.Problems, Problem(w))
	}
	sortProblems(all.Problems)
	return all
}

// findings collects what is wrong and what is odd about one source.
type findings struct {
	src      *source
	problems []Problem
	warnings []Warning
}

func (f *findings) problem(path *field.Path, format string, args ...any) {
	f.problems = append(f.problems, f.at(path, fmt.Sprintf(format, args...)))
}

func (f *findings) warn(path *field.Path, format string, args ...any) {
	f.warnings = append(f.warnings, Warning(f.at(path, fmt.Sprintf(format, args...))))
}

func (f *findings) at(path *field.Path, message string) Problem {
	p := Problem{Message: message}
	if path != nil {
		p.Path = path.String()
	}
	p.Line = f.src.lineOf(p.Path)
	return p
}

// invalid adds what a validation found.
func (f *findings) invalid(errs field.ErrorList) {
	for _, e := range errs {
		f.nameSelectorMistake(e)
		f.problems = append(f.problems, Problem{Path: e.Field, Line: f.src.lineOf(e.Field), Message: e.ErrorBody()})
	}
}

// nameSelectorMistake completes what the validation of label selectors leaves out: whose value it is that does not do, and which operators there are.
func (f *findings) nameSelectorMistake(e *field.Error) {
	if strings.HasSuffix(e.Field, "].operator") && e.Type == field.ErrorTypeInvalid {
		e.Detail += ": expected In, NotIn, Exists or DoesNotExist"
	}
	root, _ := f.src.root()
	labels, _ := find(root, strings.TrimPrefix(e.Field, f.src.prefixString()))
	if !strings.HasSuffix(e.Field, ".matchLabels") || labels == nil || labels.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(labels.Content); i += 2 {
		if key, value := labels.Content[i].Value, labels.Content[i+1].Value; value == e.BadValue && key != value {
			e.Field = fmt.Sprintf("%s[%s]", e.Field, key)
			return
		}
	}
}

// err returns the problems as an error, or nil if there are none.
func (f *findings) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	sortProblems(f.problems)
	return &Error{Name: f.src.name, Problems: slices.Compact(f.problems)}
}

// sorted returns the warnings in the order of their lines.
func (f *findings) sorted() []Warning {
	slices.SortStableFunc(f.warnings, func(a, b Warning) int { return byPlace(Problem(a), Problem(b)) })
	return slices.Compact(f.warnings)
}

func sortProblems(p []Problem) { slices.SortStableFunc(p, byPlace) }

func byPlace(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
}
