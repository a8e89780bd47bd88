package report

import (
	"cmp"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/simulate"
)

// How many decisions the page lists; -o json has all.
const (
	movesShown   = 50 // without unfolding
	movesMost    = 2000
	refusalsMost = 300 // of one gate and reason
	openRefusals = 12  // up to so many, they are unfolded
)

type movesPart struct {
	Note string
	Rows rows[moveRow]
	Left string
}

type moveRow struct {
	Seq                 int
	Pod, Owner          string
	From, To            string
	Nowhere             string // why To is empty
	Room                string // when it is another node
	Why, Code, Strategy string
}

func newMovesPart(p *plan.Plan, s *cluster.Snapshot, after *simulate.Result) *movesPart {
	if len(p.Moves) == 0 {
		return nil
	}
	var made []moveRow
	for _, m := range p.Moves[:min(len(p.Moves), movesMost)] {
		row := moveRow{
			Seq: m.Seq, Pod: Printable(m.Pod.String()), From: Printable(m.Node), Why: Printable(m.Reason.Message),
			Strategy: Printable(strategyName(p, m.Profile, m.Strategy)),
		}
		if m.Owner != nil {
			row.Owner = Printable(m.Owner.Kind + "/" + m.Owner.Name)
		}
		row.destination(m, s, after)
		made = append(made, row)
	}
	part := &movesPart{
		Note: "Where a replacement starts is up to the scheduler; here is where it would most likely start it.",
		Rows: fold(made, movesShown),
	}
	if n := len(p.Moves) - len(made); n > 0 {
		part.Left = fmt.Sprintf("%s more; -o json has them all.", counted(n, "move"))
	}
	return part
}

func (r *moveRow) destination(m plan.Move, s *cluster.Snapshot, after *simulate.Result) {
	r.Room, r.Nowhere = Printable(m.Room), "not known"
	if s == nil {
		return
	}
	pod := s.Pod(m.Pod.Namespace, m.Pod.Name)
	if pod == nil || pod.UID != m.Pod.UID {
		return
	}
	switch to := after.Landed[pod]; {
	case to != nil:
		r.To = Printable(to.Name)
		if r.Room == r.To {
			r.Room = ""
		}
	case pod.Terminal():
		r.Nowhere = "it has ended"
	case pod.Owner() == nil:
		r.Nowhere = "not replaced"
	default:
		r.Nowhere = "no room"
	}
}

// stacked is a row of counts and its bar, in percent of the longest.
type stacked struct {
	ID, Name, Means       string
	Moves, Held           string
	MovesWidth, HeldWidth float64
}

func strategyBars(p *plan.Plan) []stacked {
	most := 1
	for _, s := range p.Summary.ByStrategy {
		most = max(most, s.Moves+s.Refusals)
	}
	var list []stacked
	for _, s := range p.Summary.ByStrategy {
		list = append(list, stacked{
			Name: Printable(strategyName(p, s.Profile, s.Strategy)), Moves: grouped(s.Moves), Held: grouped(s.Refusals),
			MovesWidth: length(float64(s.Moves) / float64(most)), HeldWidth: length(float64(s.Refusals) / float64(most)),
		})
	}
	return list
}

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
		out.Left = fmt.Sprintf("%s more; -o json has them all.", counted(n, "refusal"))
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
	case "objection":
		return "another strategy would move pods away again"
	case "strategy", "nodeaffinity":
		return "the strategy itself found something against it"
	}
	return ""
}

type storyPart struct {
	Pod, Where string
	Lines      []storyLine
}

type storyLine struct{ About, What string }

func newStoryPart(s *plan.Story) *storyPart {
	if s == nil {
		return nil
	}
	part := &storyPart{Pod: Printable(s.Pod.String()), Where: "There is no such pod in the snapshot."}
	if s.Found {
		part.Where = "It is not on a node."
	}
	if s.Found && s.Node != "" {
		part.Where = "It is on node " + Printable(s.Node) + "."
	}
	for _, l := range s.Lines {
		part.Lines = append(part.Lines, storyLine{Printable(l.About), Printable(l.Reason.Message)})
	}
	return part
}
