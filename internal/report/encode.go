// Package report renders plans and outcomes for people and machines.
package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// Format is an output format.
type Format string

// The formats.
const (
	Table Format = "table"
	Wide  Format = "wide" // a table that leaves nothing out
	JSON  Format = "json"
	YAML  Format = "yaml"
	HTML  Format = "html" // a page that needs nothing else
)

// Formats lists them in the order of the help text.
func Formats() []string {
	return []string{string(Table), string(Wide), string(JSON), string(YAML), string(HTML)}
}

// ParseFormat checks a name.
func ParseFormat(s string) (Format, error) {
	for _, f := range Formats() {
		if s == f {
			return Format(s), nil
		}
	}
	return "", fmt.Errorf("output format %q is not one of %s", s, strings.Join(Formats(), ", "))
}

// Options are how a plan is shown.
type Options struct {
	Format   Format
	Color    bool     // of tables
	Policy   string   // what the page calls the policy; may be empty
	Warnings []string // about the policy, for the page
}

// Write renders a plan that was made from s.
func Write(w io.Writer, p *plan.Plan, s *cluster.Snapshot, o Options) error {
	switch o.Format {
	case JSON:
		return writeJSON(w, p)
	case YAML:
		data, err := yaml.Marshal(p)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	case HTML:
		return writePage(w, p, s, o)
	default:
		b := bufio.NewWriter(w)
		(&table{w: b, plan: p, snapshot: s, color: o.Color, wide: o.Format == Wide}).write()
		return b.Flush()
	}
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
