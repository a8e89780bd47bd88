// Package gate decides whether a proposed move may be made. Each gate answers with a value: yes, or a reason with its
// numbers. Gates never look at the API or a clock.
package gate

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Rules are the DefaultEvictor's rules, resolved: what a profile protects, and which pods it may touch.
type Rules struct {
	Protect policy.Protections
	// Threshold is the priority from which on a pod is protected, while Protect.SystemCritical is on.
	Threshold int32
	// MandatoryNoEviction makes the prefer-no-eviction annotation binding.
	MandatoryNoEviction bool
	Labels              labels.Selector // nil: every pod
	NamespaceLabels     labels.Selector // nil: every namespace
	MinReplicas         int             // owners with fewer pods are left alone; 0 and 1 mean no such rule
	MinPodAge           time.Duration   // since status.startTime; 0 means no such rule
	NodeFit             bool            // a pod must fit some other ready node
	NodeSelector        labels.Selector // nil: every node; with NodeFit, the nodes that count
	// Compat reads the evict annotation as the peer does: any value allows everything.
	Compat bool
}

// Evictor applies a profile's rules in one view.
type Evictor struct {
	rules   Rules
	view    *cluster.View
	fit     *fit.Checker
	answers []answer // by pod index: does it pass the filter?
	order   [14]rule
}

type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// NewEvictor returns the evictor for one cycle.
func NewEvictor(rules Rules, view *cluster.View) *Evictor {
	e := &Evictor{rules: rules, view: view, answers: make([]answer, len(view.Pods)), order: inOrder()}
	var nodes []*cluster.Node
	for _, n := range view.Nodes {
		if n.Ready && (rules.NodeSelector == nil || rules.NodeSelector.Matches(labels.Set(n.Labels))) {
			nodes = append(nodes, n)
		}
	}
	e.fit = fit.NewChecker(view, nodes)
	return e
}

// Fit answers about the nodes that count for node fit.
func (e *Evictor) Fit() *fit.Checker { return e.fit }

// Evictable reports whether the pod passes the filter.
func (e *Evictor) Evictable(p *cluster.Pod) bool {
	if e.answers[p.Index] == unknown {
		e.answers[p.Index] = yes
		e.check(p, func(func() plan.Reason) bool {
			e.answers[p.Index] = no
			return false
		})
	}
	return e.answers[p.Index] == yes
}

// Filter is the first rule that protects the pod, if one does.
func (e *Evictor) Filter(p *cluster.Pod) (plan.Reason, bool) {
	if e.Evictable(p) {
		return plan.Reason{}, true
	}
	var first plan.Reason
	e.check(p, func(r func() plan.Reason) bool {
		first = r()
		return false
	})
	return first, false
}

// FilterAll lists every rule that protects the pod.
func (e *Evictor) FilterAll(p *cluster.Pod) []plan.Reason {
	var all []plan.Reason
	e.check(p, func(r func() plan.Reason) bool {
		all = append(all, r())
		return true
	})
	return all
}

// check calls protected for every rule that protects the pod, in the peer's order, until it returns false.
func (e *Evictor) check(p *cluster.Pod, protected func(func() plan.Reason) bool) {
	r := &e.rules
	if value, ok := p.Annotations[cluster.AnnotationEvict]; ok {
		switch {
		case r.Compat:
			return
		case meansNo(value):
			protected(optedOut)
			return
		case !isMirror(e, p) && !isDeleting(e, p):
			return
		}
	}
	if _, ok := p.Annotations[cluster.AnnotationPreferNoEviction]; ok && r.MandatoryNoEviction && !protected(noEviction) {
		return
	}
	for i := range e.order {
		if rule := &e.order[i]; rule.protects(e, p) && !protected(func() plan.Reason { return rule.reason(e, p) }) {
			return
		}
	}
}

// meansNo reads a value of the evict annotation: whoever writes any of these wants the pod left alone.
func meansNo(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "false", "no", "off", "never", "0", "f", "n":
		return true
	}
	return false
}

// PreEviction reports whether the pod passes the pre-eviction filter.
func (e *Evictor) PreEviction(p *cluster.Pod) bool {
	return (!e.rules.NodeFit || e.fit.AnyOther(p) != nil) && e.namespaceSelected(p)
}

// PreFilter says why it does not pass the pre-eviction filter.
func (e *Evictor) PreFilter(p *cluster.Pod) (plan.Reason, bool) {
	if e.rules.NodeFit && e.fit.AnyOther(p) == nil {
		return e.fitsNowhere(p), false
	}
	if !e.namespaceSelected(p) {
		return namespaceNotSelected(p), false
	}
	return plan.Reason{}, true
}

func (e *Evictor) namespaceSelected(p *cluster.Pod) bool {
	if e.rules.NamespaceLabels == nil {
		return true
	}
	ns := e.view.Namespaces[p.Namespace]
	return ns != nil && e.rules.NamespaceLabels.Matches(labels.Set(ns.Labels))
}

// fitsNowhere says why p fits on no other node; that of the nodeSelector's there is none is no matter of the pod's.
func (e *Evictor) fitsNowhere(p *cluster.Pod) plan.Reason {
	r := e.fit.WhyNowhere(p)
	if s := e.rules.NodeSelector; s != nil && !s.Empty() && len(r.Numbers) == 0 {
		r.Message = "no other ready node matches the evictor's nodeSelector " + s.String()
	}
	return r
}
