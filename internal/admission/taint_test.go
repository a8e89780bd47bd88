package admission_test

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/admission"
)

func TestTaintsAreReadInTheFormOfKubectl(t *testing.T) {
	for text, want := range map[string]admission.Taint{
		admission.DefaultKey + ":NoSchedule": admission.Default(),
		"starting:PreferNoSchedule":          {Key: "starting", Effect: corev1.TaintEffectPreferNoSchedule},
		"example.com/a=b:NoSchedule":         {Key: "example.com/a", Value: "b", Effect: corev1.TaintEffectNoSchedule},
	} {
		got, err := admission.Parse(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v (%s), %v", text, got, got.String(), err)
		}
	}
}

func TestBadTaintsAreRefusedWithTheReason(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "want KEY[=VALUE]:EFFECT",
		"key":                       "want KEY[=VALUE]:EFFECT",
		":NoSchedule":               "key",
		"a b:NoSchedule":            "key",
		"k=a b:NoSchedule":          "value",
		"k:noschedule":              "want NoSchedule or PreferNoSchedule",
		"k:NoExecute":               "would evict",
		"k:":                        "want NoSchedule or PreferNoSchedule",
		"k:NoSchedule:PreferNoExec": "want NoSchedule or PreferNoSchedule",
	} {
		if _, err := admission.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want something about %q", text, err, want)
		}
	}
}

func TestRemovalTakesOurTaintAwayAndNoOther(t *testing.T) {
	ours := corev1.Taint{Key: admission.DefaultKey, Effect: corev1.TaintEffectNoSchedule}
	again := corev1.Taint{Key: admission.DefaultKey, Value: "true", Effect: corev1.TaintEffectNoExecute}
	a, b := corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoSchedule}, corev1.Taint{Key: "b", Value: "c", Effect: corev1.TaintEffectNoExecute}
	for name, tc := range map[string]struct{ before, after []corev1.Taint }{
		"alone":      {[]corev1.Taint{ours}, []corev1.Taint{}},
		"first":      {[]corev1.Taint{ours, a, b}, []corev1.Taint{a, b}},
		"between":    {[]corev1.Taint{a, ours, b}, []corev1.Taint{a, b}},
		"last":       {[]corev1.Taint{a, b, ours}, []corev1.Taint{a, b}},
		"more often": {[]corev1.Taint{ours, a, again, b}, []corev1.Taint{a, b}},
	} {
		patch, found := admission.Default().RemovePatch(tc.before)
		if !found {
			t.Errorf("%s: not found", name)
			continue
		}
		if diff := cmp.Diff(tc.after, apply(t, patch, tc.before)); diff != "" {
			t.Errorf("%s: patch %s (-want +got):\n%s", name, patch, diff)
		}
	}
	if patch, found := admission.Default().RemovePatch([]corev1.Taint{a, b}); found || patch != nil {
		t.Errorf("without the taint: %s", patch)
	}
}

func TestRemovalFailsWhenTheTaintsHaveChangedMeanwhile(t *testing.T) {
	ours := corev1.Taint{Key: admission.DefaultKey, Effect: corev1.TaintEffectNoSchedule}
	other := corev1.Taint{Key: "other", Effect: corev1.TaintEffectNoSchedule}
	patch, _ := admission.Default().RemovePatch([]corev1.Taint{ours})
	for _, now := range [][]corev1.Taint{nil, {other}, {other, ours}} {
		decoded, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			t.Fatal(err)
		}
		if after, err := decoded.Apply(document(t, now)); err == nil {
			t.Errorf("the patch went through on %v: %s", now, after)
		}
	}
}

func apply(t *testing.T, patch []byte, taints []corev1.Taint) []corev1.Taint {
	t.Helper()
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	after, err := decoded.Apply(document(t, taints))
	if err != nil {
		t.Fatal(err)
	}
	var node corev1.Node
	if err := json.Unmarshal(after, &node); err != nil {
		t.Fatal(err)
	}
	return node.Spec.Taints
}

func document(t *testing.T, taints []corev1.Taint) []byte {
	t.Helper()
	data, err := json.Marshal(&corev1.Node{Spec: corev1.NodeSpec{Taints: taints}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}
