package report

import (
	"cmp"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/internal/plan"
)

// How many refusals the page lists; -o json has all.
const (
	refusalsMost = 300 // of one gate and reason
	openRefusals = 12  // up to so many in all, they are unfolded
)

// gateGroup is what one gate refused.
type gateGroup struct {
	ID, Gate, Means, Count string
	Codes                  []codeGroup
	refusals               int
}

// codeGroup is what it refused for one reason.
type codeGroup struct {
	Code, Count, Example string
	Open                 bool
	Rows                 []refusalRow
	Left                 string
	refusals             int
}

type refusalRow struct{ Pod, Node, Strategy, Why string }

// refusalGroups are in the order of the gates' names, and in each the most frequent reason comes first.
func refusalGroups(p *plan.Plan) []gateGroup {
	byGate := map[string]map[string]*codeGroup{}
	for _, r := range p.Refusals {
		codes := byGate[r.Gate]
		if codes == nil {
			codes = map[string]*codeGroup{}
			byGate[r.Gate] = codes
		}
		g := codes[r.Reason.Code]
		if g == nil {
			g = &codeGroup{Code: Printable(r.Reason.Code), Example: clip(Printable(r.Reason.Message), 140)}
			codes[r.Reason.Code] = g
		}
		if g.refusals++; g.refusals <= refusalsMost {
			g.Rows = append(g.Rows, refusalRow{
				Printable(r.Pod.String()), Printable(r.Node), Printable(strategyName(p, r.Profile, r.Strategy)), Printable(r.Reason.Message),
			})
		}
	}
	var groups []gateGroup
	for gate, codes := range byGate {
		g := gateGroup{Gate: Printable(gate), Means: gateMeaning(gate)}
		for _, c := range codes {
			g.refusals += c.refusals
			g.Codes = append(g.Codes, c.finished(len(p.Refusals) <= openRefusals))
		}
		slices.SortFunc(g.Codes, func(a, b codeGroup) int {
			return cmp.Or(b.refusals-a.refusals, cmp.Compare(a.Code, b.Code))
		})
		g.Count = counted(g.refusals, "refusal")
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b gateGroup) int { return cmp.Compare(a.Gate, b.Gate) })
	for i := range groups {
		groups[i].ID = fmt.Sprintf("gate-%d", i+1)
	}
	return groups
}

func (g *codeGroup) finished(open bool) codeGroup {
	out := *g
	out.Count, out.Open = grouped(g.refusals), open
	if n := g.refusals - len(g.Rows); n > 0 {
		out.Left = counted(n, "more refusal") + "; -o json has them all."
	}
	return out
}

func gateBars(groups []gateGroup) []stacked {
	most := 1
	for _, g := range groups {
		most = max(most, g.refusals)
	}
	var list []stacked
	for _, g := range groups {
		list = append(list, stacked{
			ID: g.ID, Name: g.Gate, Means: g.Means, Held: grouped(g.refusals), HeldWidth: length(float64(g.refusals) / float64(most)),
		})
	}
	slices.SortStableFunc(list, func(a, b stacked) int { return cmp.Compare(b.HeldWidth, a.HeldWidth) })
	return list
}

// gateMeaning says what a gate refuses; see docs/plan.md.
func gateMeaning(gate string) string {
	switch gate {
	case "moved":
		return "it moves already in this cycle"
	case "evictor":
		return "what DefaultEvictor protects"
	case "self":
		return "the pod this program runs in"
	case "background":
		return "another controller is evicting it"
	case "preeviction":
		return "DefaultEvictor's node fit and namespace labels"
	case "limit":
		return "the limits of a cycle, node or namespace"
	case "starting":
		return "it has just started"
	case "budget":
		return "a PodDisruptionBudget forbids it"
	case "gentle":
		return "too much of its workload would be out at once"
	case "foresight":
		return "it could start nowhere better"
	case "pace":
		return "the nodes it could start on have enough to start"
	case "objection":
		return "another strategy would move pods away again"
	case "strategy", "nodeaffinity":
		return "the strategy itself found something against it"
	}
	return ""
}
