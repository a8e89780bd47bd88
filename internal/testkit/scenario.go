package testkit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
)

// RunScenarios runs every scenario file below dir; see the package comment for the commands.
func RunScenarios(t *testing.T, dir string) {
	t.Helper()
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		s := &scenario{builder: NewBuilder()}
		datadriven.RunTest(t, path, s.command)
	})
}

type scenario struct {
	builder *Builder
	policy  *policy.Policy
}

func (s *scenario) command(t *testing.T, d *datadriven.TestData) string {
	var err error
	switch d.Cmd {
	case "cluster":
		s.builder = NewBuilder()
		err = s.builder.Lines(d.Input)
	case "objects":
		err = s.builder.Objects(d.Input)
	case "policy":
		s.policy, err = ParsePolicy(d.Input)
	case "plan":
		return s.plan(d)
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	return ""
}

// ParsePolicy reads a whole policy, or the short form: one profile "p" with plugins, one a line, and their args
// below, indented:
//
//	evictor
//	  nodeFit: true
//	RemoveDuplicates
//	  excludeOwnerKinds: [Job]
//	limits
//	  maxNoOfPodsToEvictPerNode: 2
func ParsePolicy(text string) (*policy.Policy, error) {
	doc := text
	if !strings.Contains(text, "apiVersion:") {
		doc = expand(text)
	}
	p, _, err := policy.Load("policy", []byte(doc))
	return p, err
}

func expand(text string) string {
	var limits, config strings.Builder
	var names []string
	section := ""
	for _, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if !strings.HasPrefix(line, " ") {
			section = strings.TrimSpace(line)
			switch section {
			case "limits":
			case "evictor":
				fmt.Fprintf(&config, "  - name: DefaultEvictor\n    args:\n")
			default:
				names = append(names, section)
				fmt.Fprintf(&config, "  - name: %s\n    args:\n", section)
			}
			continue
		}
		if section == "limits" {
			fmt.Fprintln(&limits, strings.TrimPrefix(line, "  "))
		} else {
			fmt.Fprintln(&config, "    "+line)
		}
	}
	var points strings.Builder
	for _, point := range []string{"deschedule", "balance"} {
		fmt.Fprintf(&points, "    %s:\n      enabled: [%s]\n", point, strings.Join(atPoint(point, names), ", "))
	}
	return "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n" + limits.String() +
		"profiles:\n- name: p\n  pluginConfig:\n" + config.String() + "  plugins:\n" + points.String()
}

func (s *scenario) plan(d *datadriven.TestData) string {
	snapshot, err := s.builder.Snapshot()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	opts := engine.Options{Compat: d.HasArg("compat"), Background: d.HasArg("background")}
	for _, arg := range d.CmdArgs {
		if arg.Key != "enable" {
			continue
		}
		if opts.Extras, err = engine.ParseExtras(arg.Vals); err != nil {
			return "error: " + err.Error() + "\n"
		}
	}
	var why string
	if d.HasArg("why") {
		for _, arg := range d.CmdArgs {
			if arg.Key == "why" {
				why = arg.Vals[0]
			}
		}
		ns, name, _ := strings.Cut(why, "/")
		opts.Why = plan.PodRef{Namespace: ns, Name: name}
	}
	p, err := engine.Plan(snapshot, s.policy, opts)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	return render(p, d.HasArg("quiet"), d.HasArg("rooms"))
}

func render(p *plan.Plan, quiet, rooms bool) string {
	var b strings.Builder
	for _, m := range p.Moves {
		to := ""
		if rooms {
			to = " to " + m.Room
		}
		fmt.Fprintf(&b, "move %s from %s%s: %s: %s\n", m.Pod, m.Node, to, m.Strategy, m.Reason.Message)
	}
	for _, r := range p.Refusals {
		if !quiet {
			fmt.Fprintf(&b, "keep %s on %s: %s: %s\n", r.Pod, r.Node, r.Gate, r.Reason.Message)
		}
	}
	for _, c := range p.Summary.ByStrategy {
		if c.Error != "" {
			fmt.Fprintf(&b, "%s: %s\n", c.Strategy, c.Error)
		}
	}
	for _, n := range p.Summary.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if p.Summary.Skipped != "" {
		fmt.Fprintf(&b, "skipped: %s\n", p.Summary.Skipped)
	}
	if p.Story != nil {
		for _, l := range p.Story.Lines {
			fmt.Fprintf(&b, "story %s: %s\n", l.About, l.Reason.Message)
		}
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// atPoint picks the names of the plugins of one extension point.
func atPoint(point string, names []string) []string {
	var out []string
	for _, name := range names {
		if p, ok := strategy.LookupPlugin(name); ok && string(p.Point) == point {
			out = append(out, name)
		}
	}
	return out
}
