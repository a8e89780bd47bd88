package strategy

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/plan"
)

// spreadViolated is the case for a move from one domain to another with so many pods.
func spreadViolated(sp *spread, from, to int32, inFrom, inTo int) plan.Reason {
	return plan.Reason{
		Code: "SpreadViolated",
		Message: fmt.Sprintf("%s %s has %d pods and %s has %d; maxSkew is %d",
			sp.rule.TopologyKey, sp.domains.values[from], inFrom, sp.domains.values[to], inTo, sp.rule.MaxSkew),
		Numbers: plan.Numbers{"inDomain": float64(inFrom), "inSmaller": float64(inTo), "maxSkew": float64(sp.rule.MaxSkew)},
	}
}

// nowhereToSpread says why a pod stays in a domain that has too many.
func nowhereToSpread(sp *spread, from int32) plan.Reason {
	c, rule := sp.counts, sp.rule
	numbers := plan.Numbers{"inDomain": float64(c.count[from]), "fewest": float64(c.fewest()), "maxSkew": float64(rule.MaxSkew), "domains": float64(len(c.order))}
	message := fmt.Sprintf("%s %s has %d pods, another domain only %d (maxSkew %d), but no smaller domain can take it",
		rule.TopologyKey, sp.domains.values[from], c.count[from], c.fewest(), rule.MaxSkew)
	if rule.hard() {
		message += fmt.Sprintf(" and have at most %d, as the constraint demands", sp.least()+rule.MaxSkew)
		numbers["atMost"] = float64(sp.least() + rule.MaxSkew)
	}
	if int(rule.MinDomains) > len(c.order) {
		numbers["minDomains"] = float64(rule.MinDomains)
		message += fmt.Sprintf("; there are %d of minDomains %d, so the scheduler takes the fewest to be 0", len(c.order), rule.MinDomains)
	}
	return plan.Reason{Code: "NowhereToSpread", Message: message, Numbers: numbers}
}

// fitsNoSmaller says that a pod would have to leave its domain and fits on no node of a smaller one.
func fitsNoSmaller(sp *spread, from int32) plan.Reason {
	return plan.Reason{
		Code:    "NowhereToSpread",
		Message: fmt.Sprintf("%s %s has too many pods for maxSkew %d, but it fits on no node of a domain below the average", sp.rule.TopologyKey, sp.domains.values[from], sp.rule.MaxSkew),
		Numbers: plan.Numbers{"maxSkew": float64(sp.rule.MaxSkew)},
	}
}

// spreadKept says why a constraint asks for no move.
func spreadKept(sp *spread) plan.Reason {
	return plan.Reason{
		Code:    "SpreadKept",
		Message: fmt.Sprintf("its spread over %s is within maxSkew %d", sp.rule.TopologyKey, sp.rule.MaxSkew),
		Numbers: plan.Numbers{"maxSkew": float64(sp.rule.MaxSkew)},
	}
}
