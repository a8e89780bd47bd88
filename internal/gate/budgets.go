package gate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// Budgets forecasts what the eviction API will answer, and counts down as moves are accepted.
//
// The rules are those of the pods/eviction sub-resource (kubernetes pkg/registry/core/pod/storage/eviction.go, v1.36): ended, pending and
// terminating pods need no budget; a pod under two budgets can't be evicted; an unhealthy pod may go under AlwaysAllow, or while the budget
// is met; a budget whose status is older than its spec allows nothing.
type Budgets struct {
	view *cluster.View
	left map[*cluster.Budget]int32
}

// NewBudgets starts a cycle.
func NewBudgets(v *cluster.View) *Budgets {
	return &Budgets{view: v, left: map[*cluster.Budget]int32{}}
}

// Check forecasts the answer for p. When it may go, take is the budget that Take must count down, or nil.
func (b *Budgets) Check(p *cluster.Pod) (take *cluster.Budget, reason plan.Reason, ok bool) {
	if p.Terminal() || p.Phase == corev1.PodPending || p.Deleting {
		return nil, plan.Reason{}, true
	}
	budgets := b.view.BudgetsOf(p.PodInfo)
	switch len(budgets) {
	case 0:
		return nil, plan.Reason{}, true
	case 1:
	default:
		return nil, severalBudgets(budgets), false
	}
	budget := budgets[0]
	if !p.Ready && (budget.AlwaysAllow || budget.CurrentHealthy >= budget.DesiredHealthy && budget.DesiredHealthy > 0) {
		return nil, plan.Reason{}, true
	}
	switch left := b.remaining(budget); {
	case budget.Stale:
		return nil, staleBudget(budget), false
	case left <= 0:
		return nil, spentBudget(budget), false
	}
	return budget, plan.Reason{}, true
}

// Take counts a disruption.
func (b *Budgets) Take(budget *cluster.Budget) {
	if budget != nil {
		b.left[budget] = b.remaining(budget) - 1
	}
}

func (b *Budgets) remaining(budget *cluster.Budget) int32 {
	if left, ok := b.left[budget]; ok {
		return left
	}
	return budget.DisruptionsAllowed
}

func severalBudgets(list []*cluster.Budget) plan.Reason {
	return plan.Reason{
		Code:    "SeveralBudgets",
		Message: fmt.Sprintf("%d PodDisruptionBudgets select it (%s, %s, …); the eviction API refuses such pods", len(list), list[0].Name, list[1].Name),
		Numbers: plan.Numbers{"budgets": float64(len(list))},
	}
}

func staleBudget(b *cluster.Budget) plan.Reason {
	return plan.Reason{Code: "StaleBudget", Message: fmt.Sprintf("PodDisruptionBudget %s has changed and its status is not up to date yet", b.Name)}
}

func spentBudget(b *cluster.Budget) plan.Reason {
	return plan.Reason{
		Code: "BudgetSpent",
		Message: fmt.Sprintf("PodDisruptionBudget %s allows no further disruption (%d at the start of the cycle, %d healthy of %d desired)",
			b.Name, b.DisruptionsAllowed, b.CurrentHealthy, b.DesiredHealthy),
		Numbers: plan.Numbers{"allowed": float64(b.DisruptionsAllowed), "healthy": float64(b.CurrentHealthy), "desired": float64(b.DesiredHealthy)},
	}
}
