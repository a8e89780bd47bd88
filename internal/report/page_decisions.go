package report

import (
	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/simulate"
)

// How many moves the page lists; -o json has all.
const (
	movesShown = 50 // without unfolding
	movesMost  = 2000
)

type movesPart struct {
	Note string
	Rows rows[moveRow]
	Left string
}

type moveRow struct {
	Seq           int
	Pod, Owner    string
	From, To      string
	Nowhere       string // why To is empty
	Room          string // when it is another node
	Why, Strategy string
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
		part.Left = counted(n, "more move") + "; -o json has them all."
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
