package gate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
)

// rule is one reason for which the DefaultEvictor leaves a pod alone.
type rule struct {
	protects func(e *Evictor, p *cluster.Pod) bool
	reason   func(e *Evictor, p *cluster.Pod) plan.Reason
}

// inOrder lists the rules in the order of the descheduler v0.36.
func inOrder() [14]rule {
	return [...]rule{
		{isMirror, says("MirrorPod", "it is a mirror pod: the kubelet runs it from a file")},
		{isStatic, says("StaticPod", "it is a static pod: the kubelet runs it from a file or URL")},
		{isDeleting, says("Terminating", "it is being deleted already")},
		{isCritical, says("SystemCritical", "it is system-critical (priority 2000000000 or higher)")},
		{isAboveThreshold, aboveThreshold},
		{isBare, says("NoOwner", "nothing owns it, so nothing would start it again")},
		{hasLocalStorage, says("LocalStorage", "it has local storage (emptyDir or hostPath)")},
		{isDaemon, says("DaemonSet", "a DaemonSet owns it")},
		{hasClaim, says("PersistentVolumeClaim", "it uses a protected persistent volume claim")},
		{hasNoBudget, says("NoDisruptionBudget", "no PodDisruptionBudget covers it")},
		{hasResourceClaim, says("ResourceClaim", "it uses a resource claim")},
		{isNotSelected, says("NotSelected", "its labels do not match the evictor's label selector")},
		{hasFewReplicas, fewReplicas},
		{isYoung, tooYoung},
	}
}

func isMirror(_ *Evictor, p *cluster.Pod) bool {
	_, ok := p.Annotations[cluster.AnnotationMirror]
	return ok
}

func isStatic(_ *Evictor, p *cluster.Pod) bool {
	source, ok := p.Annotations[cluster.AnnotationConfigSource]
	return ok && source != "api"
}

func isDeleting(_ *Evictor, p *cluster.Pod) bool { return p.Deleting }

func isCritical(e *Evictor, p *cluster.Pod) bool {
	return e.rules.Protect.SystemCritical && p.Spec.Priority != nil && *p.Spec.Priority >= policy.SystemCriticalPriority
}

func isAboveThreshold(e *Evictor, p *cluster.Pod) bool {
	return e.rules.Protect.SystemCritical && p.Spec.Priority != nil && *p.Spec.Priority >= e.rules.Threshold && !isCritical(e, p)
}

func isBare(e *Evictor, p *cluster.Pod) bool {
	return len(p.Owners) == 0 && (e.rules.Protect.BarePods || p.Phase != corev1.PodFailed)
}

func hasLocalStorage(e *Evictor, p *cluster.Pod) bool {
	return e.rules.Protect.LocalStorage && p.Spec.LocalStorage
}

func isDaemon(e *Evictor, p *cluster.Pod) bool {
	return e.rules.Protect.DaemonSet && p.OwnedBy("DaemonSet")
}

// hasClaim protects pods whose claims are of a protected class; a claim that is not known, or names no class, counts as protected.
func hasClaim(e *Evictor, p *cluster.Pod) bool {
	if !e.rules.Protect.PVC {
		return false
	}
	if len(e.rules.Protect.StorageClasses) == 0 {
		return len(p.Claims) > 0
	}
	for _, name := range p.Claims {
		claim := e.view.Claims[p.Namespace+"/"+name]
		if claim == nil || claim.StorageClass == nil || slices.Contains(e.rules.Protect.StorageClasses, *claim.StorageClass) {
			return true
		}
	}
	return false
}

func hasNoBudget(e *Evictor, p *cluster.Pod) bool {
	return e.rules.Protect.WithoutPDB && len(e.view.BudgetsOf(p.PodInfo)) == 0
}

func hasResourceClaim(e *Evictor, p *cluster.Pod) bool {
	return e.rules.Protect.ResourceClaims && p.Spec.ResourceClaims
}

func isNotSelected(e *Evictor, p *cluster.Pod) bool {
	return e.rules.Labels != nil && !e.rules.Labels.Matches(labels.Set(p.Labels))
}

// hasFewReplicas counts every pod of the owner, in any state; pods with no or several owners are not held back.
func hasFewReplicas(e *Evictor, p *cluster.Pod) bool {
	return e.rules.MinReplicas > 1 && len(p.Owners) == 1 && e.view.Siblings(p.Owners[0].UID) < e.rules.MinReplicas
}

func isYoung(e *Evictor, p *cluster.Pod) bool {
	return e.rules.MinPodAge > 0 && (p.Started.IsZero() || e.view.TakenAt.Sub(p.Started) < e.rules.MinPodAge)
}

func says(code, message string) func(*Evictor, *cluster.Pod) plan.Reason {
	return func(*Evictor, *cluster.Pod) plan.Reason { return plan.Reason{Code: code, Message: message} }
}

func optedOut() plan.Reason {
	return plan.Reason{Code: "OptedOut", Message: `its annotation ` + cluster.AnnotationEvict + ` says no`}
}

func noEviction() plan.Reason {
	return plan.Reason{Code: "NoEviction", Message: "its annotation " + cluster.AnnotationPreferNoEviction + " is binding in this policy"}
}

func aboveThreshold(e *Evictor, p *cluster.Pod) plan.Reason {
	return plan.Reason{
		Code:    "PriorityThreshold",
		Message: fmt.Sprintf("its priority %d is not below the threshold %d", *p.Spec.Priority, e.rules.Threshold),
		Numbers: plan.Numbers{"priority": float64(*p.Spec.Priority), "threshold": float64(e.rules.Threshold)},
	}
}

func fewReplicas(e *Evictor, p *cluster.Pod) plan.Reason {
	have := e.view.Siblings(p.Owners[0].UID)
	return plan.Reason{
		Code:    "MinReplicas",
		Message: fmt.Sprintf("its owner has %d pods, fewer than minReplicas %d", have, e.rules.MinReplicas),
		Numbers: plan.Numbers{"pods": float64(have), "minReplicas": float64(e.rules.MinReplicas)},
	}
}

func tooYoung(e *Evictor, p *cluster.Pod) plan.Reason {
	if p.Started.IsZero() {
		return plan.Reason{Code: "MinPodAge", Message: "it has not started yet, and minPodAge is set"}
	}
	age := e.view.TakenAt.Sub(p.Started)
	return plan.Reason{
		Code:    "MinPodAge",
		Message: fmt.Sprintf("it started %s ago, less than minPodAge %s", age, e.rules.MinPodAge),
		Numbers: plan.Numbers{"ageSeconds": age.Seconds(), "minPodAgeSeconds": e.rules.MinPodAge.Seconds()},
	}
}

func namespaceNotSelected(p *cluster.Pod) plan.Reason {
	return plan.Reason{Code: "NamespaceNotSelected", Message: fmt.Sprintf("namespace %s does not match the evictor's namespaceLabelSelector", p.Namespace)}
}
