package cli

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// nodeRow is what is shown of one node. Its JSON form is a contract; what is not known is null.
type nodeRow struct {
	Node string `json:"node"`
	// Tainted is whether it has the bootstrap taint.
	Tainted bool `json:"tainted"`
	// Agent is "Ready", "NotReady" or, where none runs, null.
	Agent *string `json:"agent"`
	// Limit, Starting and Waiting are as the agent reported last.
	Limit    *int32 `json:"limit"`
	Starting *int32 `json:"starting"`
	Waiting  *int32 `json:"waiting"`
	// WaitingSince is when the longest wait began; null while none waits.
	WaitingSince *metav1.Time `json:"waitingSince"`
	// Policy is the PacePolicy that holds; empty for the agent's file alone.
	Policy *string `json:"policy"`
	// Pods are bound to the node and not ended.
	Pods int `json:"pods"`
	// Removed marks, with --watch, a node that is gone.
	Removed bool `json:"removed,omitempty"`
}

// rows are those of all nodes, by name.
func (w nodeWorld) rows(now time.Time) []nodeRow {
	paces := make(map[string]*v1alpha1.NodePace, len(w.paces))
	for _, p := range w.paces {
		paces[p.Name] = p
	}
	agents, counts := w.count()
	rows := make([]nodeRow, 0, len(w.nodes))
	for _, n := range w.nodes {
		row := nodeRow{Node: n.Name, Pods: counts[n.Name], Tainted: slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == w.taint.Key && t.Effect == w.taint.Effect
		})}
		row.report(paces[n.Name], agents[n.Name])
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b nodeRow) int { return cmp.Compare(a.Node, b.Node) })
	return rows
}

// count finds the agents' pods, and how many pods each node has.
func (w nodeWorld) count() (agents map[string]*corev1.Pod, counts map[string]int) {
	agents, counts = map[string]*corev1.Pod{}, map[string]int{}
	isAgent, err := labels.Parse(agentSelector)
	if err != nil {
		isAgent = labels.Nothing()
	}
	for _, p := range w.pods {
		if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		counts[p.Spec.NodeName]++
		if known := agents[p.Spec.NodeName]; isAgent.Matches(labels.Set(p.Labels)) && (known == nil || isReady(p)) {
			agents[p.Spec.NodeName] = p
		}
	}
	return agents, counts
}

// report fills in what the agent says. Whether it is ready, its pod says, which does not outlive it; an agent that runs
// in no pod is as ready as it said itself.
func (r *nodeRow) report(p *v1alpha1.NodePace, agent *corev1.Pod) {
	if p != nil {
		r.Limit, r.Starting, r.Waiting = &p.Status.Limit, &p.Status.Starting, &p.Status.Waiting
		r.WaitingSince, r.Policy = p.Status.WaitingSince, &p.Status.Policy
	}
	word := func(ready bool) *string {
		text := "NotReady"
		if ready {
			text = "Ready"
		}
		return &text
	}
	switch {
	case agent != nil:
		r.Agent = word(isReady(agent))
	case p != nil:
		r.Agent = word(meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady))
	}
}

func isReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// changedRows are the rows of after that are not the same in before, and those that went.
func changedRows(before, after []nodeRow) []nodeRow {
	old := make(map[string]nodeRow, len(before))
	for _, r := range before {
		old[r.Node] = r
	}
	var changed []nodeRow
	for _, r := range after {
		if was, known := old[r.Node]; !known || !reflect.DeepEqual(was, r) {
			changed = append(changed, r)
		}
		delete(old, r.Node)
	}
	for _, r := range before {
		if gone, went := old[r.Node]; went {
			gone.Removed = true
			changed = append(changed, gone)
		}
	}
	return changed
}

// nodeTable prints rows below each other, also those that come later: its columns only grow.
type nodeTable struct {
	w      io.Writer
	widths []int
}

func (t *nodeTable) print(rows []nodeRow, now time.Time, header bool) error {
	var lines [][]string
	if header {
		lines = append(lines, []string{"NODE", "TAINT", "AGENT", "LIMIT", "STARTING", "WAITING", "LONGEST WAIT", "POLICY", "PODS"})
	}
	for _, r := range rows {
		lines = append(lines, r.cells(now))
	}
	for _, line := range lines {
		for i, cell := range line[:len(line)-1] {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		for i, cell := range line[:len(line)-1] {
			fmt.Fprintf(&b, "%-*s   ", t.widths[i], cell)
		}
		b.WriteString(line[len(line)-1] + "\n")
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

func (r nodeRow) cells(now time.Time) []string {
	if r.Removed {
		return []string{r.Node, "(gone)"}
	}
	taint, wait := "-", "-"
	if r.Tainted {
		taint = "yes"
	}
	if r.WaitingSince != nil {
		wait = duration.HumanDuration(now.Sub(r.WaitingSince.Time))
	}
	return []string{r.Node, taint, orDash(r.Agent), countOrDash(r.Limit), countOrDash(r.Starting), countOrDash(r.Waiting), wait, orDash(r.Policy), strconv.Itoa(r.Pods)}
}

func orDash(text *string) string {
	if text == nil || *text == "" {
		return "-"
	}
	return *text
}

func countOrDash(n *int32) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(int(*n))
}
