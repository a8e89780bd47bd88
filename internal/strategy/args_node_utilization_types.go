package strategy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Thresholds are percentages, 0 to 100, of what a node can allocate, by
// resource. Fractions are fine.
type Thresholds map[corev1.ResourceName]float64

// MetricResource is the only resource name that thresholds on a Prometheus
// query can have: the query's value stands for the node as a whole.
const MetricResource corev1.ResourceName = "MetricResource"

func validateThresholds(path *field.Path, t Thresholds) field.ErrorList {
	if len(t) == 0 {
		return field.ErrorList{field.Required(path, "set a threshold for at least one resource")}
	}
	var errs field.ErrorList
	for _, name := range sortedKeys(t) {
		// Written so that NaN fails too.
		if v := t[name]; !(v >= 0 && v <= 100) {
			errs = append(errs, field.Invalid(path.Key(string(name)), v, "must be a percentage, 0 to 100"))
		}
	}
	return errs
}
