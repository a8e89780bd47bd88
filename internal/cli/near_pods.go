package cli

import (
	"cmp"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// shownNear is how many pods a hint names.
const shownNear = 3

// nearPods is a hint at the pods that may have been meant: of that name in other namespaces, or in the namespace with the longest
// beginning in common, which tells replicas of one workload.
func nearPods(s *cluster.Snapshot, wanted plan.PodRef) string {
	type candidate struct {
		key    string
		common int
	}
	var near []candidate
	for _, p := range s.Pods {
		common := commonPrefix(p.Name, wanted.Name)
		switch {
		case p.Name == wanted.Name:
			near = append(near, candidate{p.Key(), len(p.Name) + 1})
		case p.Namespace == wanted.Namespace && common >= (len(wanted.Name)+1)/2:
			near = append(near, candidate{p.Key(), common})
		}
	}
	if len(near) == 0 {
		if !slices.ContainsFunc(s.Pods, func(p *cluster.Pod) bool { return p.Namespace == wanted.Namespace }) {
			return ", and no pod at all in namespace " + wanted.Namespace
		}
		return ""
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(b.common, a.common) })
	var names []string
	for _, c := range near[:min(shownNear, len(near))] {
		names = append(names, c.key)
	}
	return "; there is " + strings.Join(names, ", ")
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
