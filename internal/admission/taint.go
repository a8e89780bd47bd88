package admission

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// DefaultKey is the taint's key unless configured otherwise. Its prefix makes the cluster autoscaler take a tainted node for one
// that is still starting, instead of adding another.
const DefaultKey = "startup-taint.cluster-autoscaler.kubernetes.io/evenkeel-agent-not-ready"

// Taint is the bootstrap taint. Use [Default] or [Parse].
type Taint struct {
	Key    string
	Value  string // usually empty
	Effect corev1.TaintEffect
}

// Default is the taint of the manifests in deploy/.
func Default() Taint {
	return Taint{Key: DefaultKey, Effect: corev1.TaintEffectNoSchedule}
}

// Parse reads a taint in the form of kubectl and kubelet, KEY[=VALUE]:EFFECT. The effect is NoSchedule or PreferNoSchedule.
func Parse(text string) (Taint, error) {
	name, effect, found := strings.Cut(text, ":")
	if !found {
		return Taint{}, fmt.Errorf("taint %q: want KEY[=VALUE]:EFFECT", text)
	}
	key, value, _ := strings.Cut(name, "=")
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return Taint{}, fmt.Errorf("taint %q: key %q: %s", text, key, strings.Join(problems, "; "))
	}
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return Taint{}, fmt.Errorf("taint %q: value %q: %s", text, value, strings.Join(problems, "; "))
	}
	switch e := corev1.TaintEffect(effect); e {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule:
		return Taint{Key: key, Value: value, Effect: e}, nil
	case corev1.TaintEffectNoExecute:
		return Taint{}, fmt.Errorf("taint %q: NoExecute would evict pods that the node needs; want NoSchedule or PreferNoSchedule", text)
	default:
		return Taint{}, fmt.Errorf("taint %q: effect %q: want NoSchedule or PreferNoSchedule", text, effect)
	}
}

// String is the form that Parse reads.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + string(t.Effect)
	}
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}

// Set makes *Taint a flag.
func (t *Taint) Set(text string) error {
	parsed, err := Parse(text)
	if err == nil {
		*t = parsed
	}
	return err
}

// Type is what a flag's help calls its value.
func (t *Taint) Type() string { return "taint" }

// Matches says whether other is this taint. The key alone counts: the taint may have been put on by something that
// demands a value, such as a node pool's settings, or prefers another effect.
func (t Taint) Matches(other corev1.Taint) bool { return t.Key == other.Key }

// On says whether the node has the taint.
func (t Taint) On(node *corev1.Node) bool { return slices.ContainsFunc(node.Spec.Taints, t.Matches) }
