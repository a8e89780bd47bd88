package snapfile

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// Redact leaves of an object only the fields that [Read] reads: no environment, commands, arguments or probes, no volumes but the three sorts that
// decisions know (without their paths), hence no names of secrets and config maps, no image pull secrets, no annotations but those that
// decisions read. An object of a kind that is not read becomes nil.
func Redact(apiVersion, kind string, object []byte) ([]byte, error) {
	t := typeName{apiVersion, kind}
	k, known := kinds()[t]
	if !known {
		return nil, nil
	}
	out, problem := k.redact(object)
	if problem != nil {
		return nil, problem.in(objectName(kind, object))
	}
	return out, nil
}

// scrub takes from an object what is in a field that is read, but is not read itself.
func scrub[T any, P object[T]](o P) {
	m := &o.head().Metadata
	switch o := any(o).(type) {
	case *pod:
		m.Annotations = readAnnotations(m.Annotations)
		o.Spec.Volumes = slices.DeleteFunc(o.Spec.Volumes, func(v volume) bool { return v == volume{} })
		return
	case *node, *namespace:
	case *persistentVolume:
		maps.DeleteFunc(m.Labels, func(key, _ string) bool { return !slices.Contains(cluster.ZoneLabels(), key) })
	default:
		m.Labels = nil
	}
	m.Annotations = nil
}

// readAnnotations are the annotations that decisions read. Package cluster alone knows which.
func readAnnotations(all map[string]string) map[string]string {
	if len(all) == 0 {
		return nil
	}
	return cluster.NewConverter().Pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: all}}).Annotations
}
