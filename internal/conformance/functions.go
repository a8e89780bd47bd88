package conformance

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/gate"
	"evenkeel.dev/evenkeel/internal/strategy"
)

// functionCase is a case about one function of the descheduler.
type functionCase struct {
	Function    string        `json:"function"`
	Pod         *corev1.Pod   `json:"pod"`
	Pods        []corev1.Pod  `json:"pods"`
	Nodes       []corev1.Node `json:"nodes"`
	PodsOnNodes []corev1.Pod  `json:"podsOnNodes"`
	Policy      struct {
		Total        *uint `json:"maxNoOfPodsToEvictTotal"`
		PerNode      *uint `json:"maxNoOfPodsToEvictPerNode"`
		PerNamespace *uint `json:"maxNoOfPodsToEvictPerNamespace"`
	} `json:"policy"`
	EvictionAPIError *string `json:"evictionAPIError"`
	Expected         struct {
		Fits         *bool    `json:"fits"`
		Match        *bool    `json:"match"`
		Weight       *int64   `json:"weight"`
		Order        []string `json:"order"`
		EvictedCount *int     `json:"evictedCount"`
	} `json:"expected"`
}

// runFunction runs a case of nodefit, podsort or evictions.
func runFunction(data []byte) (left string, err error) {
	var c functionCase
	if err := json.Unmarshal(data, &c); err != nil {
		return "", err
	}
	switch c.Function {
	case "SortPodsBasedOnPriorityLowToHigh":
		return "", c.order(strategy.SortLeastImportantFirst)
	case "SortPodsBasedOnAge":
		return "", c.order(strategy.SortOldestFirst)
	case "EvictPod":
		if c.EvictionAPIError != nil {
			return "an answer of the eviction API: the executor's own tests cover it", nil
		}
		return "", c.limits()
	case "evictPod":
		return "an answer of the eviction API: the executor's own tests cover it", nil
	default:
		return "", c.fit()
	}
}

func (c *functionCase) order(sort func([]*cluster.Pod)) error {
	conv := cluster.NewConverter()
	var pods []*cluster.Pod
	for i := range c.Pods {
		pods = append(pods, &cluster.Pod{PodInfo: conv.Pod(&c.Pods[i])})
	}
	sort(pods)
	var got []string
	for _, p := range pods {
		got = append(got, p.Name)
	}
	if !slices.Equal(got, c.Expected.Order) {
		return fmt.Errorf("order %v, want %v", got, c.Expected.Order)
	}
	return nil
}

func (c *functionCase) limits() error {
	counter := gate.NewCounter(gate.Limits{Total: c.Policy.Total, PerNode: c.Policy.PerNode, PerNamespace: c.Policy.PerNamespace})
	evicted := 0
	if _, _, ok := counter.Check(&cluster.Pod{PodInfo: cluster.NewConverter().Pod(c.Pod)}); ok {
		evicted = 1
	}
	if c.Expected.EvictedCount != nil && evicted != *c.Expected.EvictedCount {
		return fmt.Errorf("evicted %d, want %d", evicted, *c.Expected.EvictedCount)
	}
	return nil
}

func (c *functionCase) fit() error {
	view, pod, err := c.view()
	if err != nil {
		return err
	}
	checker := fit.NewChecker(view, view.Nodes)
	switch c.Function {
	case "PodFitsAnyOtherNode":
		return agree("fits", checker.AnyOther(pod) != nil, c.Expected.Fits)
	case "PodFitsCurrentNode", "NodeFit":
		_, ok := checker.Why(pod, view.Nodes[0])
		if ok != checker.Fits(pod, view.Nodes[0]) {
			return fmt.Errorf("the answers of Why and Fits differ")
		}
		return agree("fits", ok, c.Expected.Fits)
	case "CheckPodsWithAntiAffinityExist":
		match := slices.ContainsFunc(view.Nodes, func(n *cluster.Node) bool {
			why, ok := checker.Why(pod, n)
			return !ok && why.Code == fit.CodeRepelled
		})
		return agree("match", match, c.Expected.Match)
	case "GetNodeWeightGivenPodPreferredAffinity", "GetBestNodeWeightGivenPodPreferredAffinity":
		var best int64
		for _, n := range view.Nodes {
			best = max(best, pod.Spec.Placement.Weight(n.NodeInfo))
		}
		return agree("weight", best, c.Expected.Weight)
	default:
		return fmt.Errorf("function %q is not known", c.Function)
	}
}

// view is a snapshot of the case; the pod asked about is not on a node unless it says so.
func (c *functionCase) view() (*cluster.View, *cluster.Pod, error) {
	conv := cluster.NewConverter()
	parts := cluster.Parts{Resources: conv.Resources}
	for i := range c.Nodes {
		parts.Nodes = append(parts.Nodes, conv.Node(&c.Nodes[i]))
	}
	asked := conv.Pod(c.Pod)
	key := asked.Key()
	parts.Pods = append(parts.Pods, asked)
	for i := range c.PodsOnNodes {
		if other := conv.Pod(&c.PodsOnNodes[i]); other.Key() != key {
			parts.Pods = append(parts.Pods, other)
		}
	}
	s, err := parts.Snapshot(c.Pod.CreationTimestamp.Time)
	if err != nil {
		return nil, nil, err
	}
	return cluster.NewView(s), s.Pod(asked.Namespace, asked.Name), nil
}

func agree[T comparable](what string, got T, want *T) error {
	if want != nil && got != *want {
		return fmt.Errorf("%s: got %v, want %v", what, got, *want)
	}
	return nil
}
