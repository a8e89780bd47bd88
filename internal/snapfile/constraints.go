package snapfile

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	errTopologyKey = errors.New("empty; expected the key of a node label")
	errMaxSkew     = errors.New("expected at least 1")
)

// checkConstraints refuses affinity and spread constraints that no API server would have taken: they would silently select nothing, or
// keep a pod off every node.
func checkConstraints(in *podSpec) *fieldError {
	for i := range in.TopologySpreadConstraints {
		c := &in.TopologySpreadConstraints[i]
		at := fmt.Sprintf(".topologySpreadConstraints[%d]", i)
		if c.MaxSkew < 1 {
			return &fieldError{path: at + ".maxSkew", value: fmt.Sprint(c.MaxSkew), err: errMaxSkew}
		}
		if problem := checkTerm(c.TopologyKey, c.LabelSelector); problem != nil {
			return problem.under(at)
		}
	}
	if in.Affinity == nil {
		return nil
	}
	if a := in.Affinity.PodAffinity; a != nil {
		if problem := checkTerms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution); problem != nil {
			return problem.under(".affinity.podAffinity")
		}
	}
	if a := in.Affinity.PodAntiAffinity; a != nil {
		if problem := checkTerms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution); problem != nil {
			return problem.under(".affinity.podAntiAffinity")
		}
	}
	return nil
}

func checkTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) *fieldError {
	for i := range required {
		if problem := checkTerm(required[i].TopologyKey, required[i].LabelSelector); problem != nil {
			return problem.under(fmt.Sprintf(".requiredDuringSchedulingIgnoredDuringExecution[%d]", i))
		}
	}
	for i := range preferred {
		t := &preferred[i].PodAffinityTerm
		if problem := checkTerm(t.TopologyKey, t.LabelSelector); problem != nil {
			return problem.under(fmt.Sprintf(".preferredDuringSchedulingIgnoredDuringExecution[%d].podAffinityTerm", i))
		}
	}
	return nil
}

func checkTerm(topologyKey string, selector *metav1.LabelSelector) *fieldError {
	if topologyKey == "" {
		return &fieldError{path: ".topologyKey", err: errTopologyKey}
	}
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		return &fieldError{path: ".labelSelector", err: err}
	}
	return nil
}
