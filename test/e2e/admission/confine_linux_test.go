package admission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"evenkeel.dev/evenkeel/internal/admission"
	"evenkeel.dev/evenkeel/test/harness"
)

const agentAccount = "evenkeel-agent-windows"

// confined applies the policies and awaits that they act, with two nodes and an agent on each.
func confined(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	applyOverlay(t, cluster, "policy")
	cluster.KubectlInput(t, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "+agentAccount+", namespace: kube-system}\n", "apply", "-f", "-")
	awaitTaint(t, cluster, 1)
}

func patchNode(ctx context.Context, client kubernetes.Interface, name string, kind types.PatchType, patch string) error {
	_, err := client.CoreV1().Nodes().Patch(ctx, name, kind, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func TestAgentMayOnlyTakeTheBootstrapTaintOfItsOwnNodeAway(t *testing.T) {
	cluster := harness.ControlPlane(t)
	confined(t, cluster)
	sku := corev1.Taint{Key: "sku", Value: "gpu", Effect: corev1.TaintEffectPreferNoSchedule}
	for _, name := range []string{"own", "foreign"} {
		register(t, cluster, windowsNode(name, sku))
	}
	client, _ := agent(t, cluster, "kube-system", agentAccount, "own")
	other, _ := agent(t, cluster, "kube-system", agentAccount, "foreign")
	unbound := cluster.ClientFor(t, "kube-system", agentAccount)
	harness.Await(t, time.Minute, "the confinement acts", func(ctx context.Context) error {
		return refused(patchNode(ctx, client, "own", types.MergePatchType, `{"metadata":{"labels":{"x":"y"}}}`), "an agent may only take")
	})

	own := node(t, cluster, "own")
	remove, _ := admission.Default().RemovePatch(own.Spec.Taints)
	without, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": []corev1.Taint{sku}}})
	must(t, err)
	kept, err := json.Marshal(own.Spec.Taints)
	must(t, err)
	for name, tc := range map[string]struct {
		client kubernetes.Interface
		node   string
		kind   types.PatchType
		patch  string
		want   string // of the refusal; "" is granted
	}{
		"its own by JSON patch":        {client, "own", types.JSONPatchType, string(remove), ""},
		"its own by merge patch":       {client, "own", types.MergePatchType, string(without), ""},
		"the other agent's node":       {client, "foreign", types.JSONPatchType, string(remove), "the agent of node own may not change node foreign"},
		"the other agent, here":        {other, "own", types.JSONPatchType, string(remove), "the agent of node foreign may not change node own"},
		"the other agent, its own":     {other, "foreign", types.JSONPatchType, string(remove), ""},
		"a token without a pod":        {unbound, "own", types.JSONPatchType, string(remove), "not bound to a pod"},
		"every taint":                  {client, "own", types.MergePatchType, `{"spec":{"taints":null}}`, "change no other"},
		"another taint":                {client, "own", types.StrategicMergePatchType, `{"spec":{"taints":[{"$patch":"delete","key":"sku","effect":"PreferNoSchedule"}]}}`, "change no other"},
		"a further taint":              {client, "own", types.JSONPatchType, `[{"op":"add","path":"/spec/taints/-","value":{"key":"a","effect":"NoExecute"}}]`, "change no other"},
		"an unchanged list of taints":  {client, "own", types.MergePatchType, `{"metadata":{"labels":{"a":"b"}},"spec":{"taints":` + string(kept) + `}}`, "change no other"},
		"a label beside":               {client, "own", types.MergePatchType, `{"metadata":{"labels":{"a":"b"}},"spec":` + specOf(without) + `}`, "labels"},
		"a label taken away beside":    {client, "own", types.MergePatchType, `{"metadata":{"labels":{"kubernetes.io/os":null}},"spec":` + specOf(without) + `}`, "labels"},
		"an annotation beside":         {client, "own", types.MergePatchType, `{"metadata":{"annotations":{"a":"b"}},"spec":` + specOf(without) + `}`, "annotations"},
		"a finalizer beside":           {client, "own", types.MergePatchType, `{"metadata":{"finalizers":["a.b/c"]},"spec":` + specOf(without) + `}`, "finalizers"},
		"an owner beside":              {client, "own", types.MergePatchType, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}]},"spec":` + specOf(without) + `}`, "owners"},
		"cordoning beside":             {client, "own", types.MergePatchType, `{"spec":{"unschedulable":true,"taints":` + taintsOf(without) + `}}`, "nothing of its node's spec"},
		"a provider beside":            {client, "own", types.MergePatchType, `{"spec":{"providerID":"x://y","taints":` + taintsOf(without) + `}}`, "nothing of its node's spec"},
		"the status":                   {client, "own", "status", `{"status":{"phase":"Running"}}`, "cannot patch resource"},
		"a removal from a stale list":  {client, "own", types.JSONPatchType, `[{"op":"test","path":"/spec/taints/7/key","value":"x"},{"op":"remove","path":"/spec/taints/7"}]`, "the server rejected our request"},
		"a removal of another's place": {client, "own", types.JSONPatchType, `[{"op":"remove","path":"/spec/taints/` + placeOf(own, "sku") + `"}]`, "change no other"},
	} {
		var err error
		if tc.kind == "status" {
			_, err = tc.client.CoreV1().Nodes().Patch(t.Context(), tc.node, types.MergePatchType, []byte(tc.patch), metav1.PatchOptions{}, "status")
		} else {
			err = patchNode(t.Context(), tc.client, tc.node, tc.kind, tc.patch)
		}
		if tc.want == "" && err != nil {
			t.Errorf("%s: refused: %v", name, err)
		}
		if tc.want != "" {
			if problem := refused(err, tc.want); problem != nil {
				t.Errorf("%s: %v", name, problem)
			}
		}
	}

	// Others are not concerned.
	must(t, patchNode(t.Context(), cluster.Client, "own", types.MergePatchType, `{"metadata":{"labels":{"x":"y"}}}`))
}

func specOf(patch []byte) string {
	var p struct{ Spec json.RawMessage }
	_ = json.Unmarshal(patch, &p)
	return string(p.Spec)
}

func taintsOf(patch []byte) string {
	var p struct {
		Spec struct{ Taints json.RawMessage }
	}
	_ = json.Unmarshal(patch, &p)
	return string(p.Spec.Taints)
}

func placeOf(node *corev1.Node, key string) string {
	for i, taint := range node.Spec.Taints {
		if taint.Key == key {
			return fmt.Sprint(i)
		}
	}
	return "?"
}

// refused returns nil if err is a refusal that says want.
func refused(err error, want string) error {
	if err == nil {
		return fmt.Errorf("granted, want a refusal with %q", want)
	}
	if !strings.Contains(err.Error(), want) {
		return fmt.Errorf("refused with %w, want %q", err, want)
	}
	return nil
}

// nodePaceCRD stands for the real one, of which the policy needs no more than the names.
const nodePaceCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nodepaces.evenkeel.dev}
spec:
  group: evenkeel.dev
  scope: Cluster
  names: {kind: NodePace, plural: nodepaces, singular: nodepace}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: test-nodepaces}
rules:
- {apiGroups: [evenkeel.dev], resources: [nodepaces, nodepaces/status], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: test-nodepaces}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: test-nodepaces}
subjects: [{kind: ServiceAccount, name: ` + agentAccount + `, namespace: kube-system}]
`

func TestAgentWritesTheNodePaceOfItsOwnNodeAlone(t *testing.T) {
	cluster := harness.ControlPlane(t)
	cluster.KubectlInput(t, nodePaceCRD, "apply", "-f", "-")
	t.Cleanup(func() { cluster.KubectlInput(t, nodePaceCRD, "delete", "-f", "-") })
	cluster.Kubectl(t, "wait", "--for=condition=Established", "crd/nodepaces.evenkeel.dev")
	confined(t, cluster)
	register(t, cluster, windowsNode("own"))
	register(t, cluster, windowsNode("foreign"))
	_, config := agent(t, cluster, "kube-system", agentAccount, "own")
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	admin, err := dynamic.NewForConfig(cluster.Config)
	must(t, err)
	kind := schema.GroupVersionResource{Group: "evenkeel.dev", Version: "v1alpha1", Resource: "nodepaces"}
	paces, all := client.Resource(kind), admin.Resource(kind)
	pace := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodePace", "metadata": map[string]any{"name": name},
		}}
	}
	const foreign = "the agent of node own may not write NodePace foreign"
	dry := []string{metav1.DryRunAll}
	harness.Await(t, time.Minute, "the confinement acts", func(ctx context.Context) error {
		_, err := paces.Create(ctx, pace("foreign"), metav1.CreateOptions{DryRun: dry})
		return refused(err, foreign)
	})
	_, err = all.Create(t.Context(), pace("foreign"), metav1.CreateOptions{})
	must(t, err)

	status := []byte(`{"status":{"limit":3}}`)
	_, err = paces.Create(t.Context(), pace("own"), metav1.CreateOptions{})
	must(t, err)
	_, err = paces.Patch(t.Context(), "own", types.MergePatchType, status, metav1.PatchOptions{}, "status")
	must(t, err)
	_, err = paces.Patch(t.Context(), "own", types.MergePatchType, []byte(`{"spec":{}}`), metav1.PatchOptions{})
	must(t, err)
	_, err = paces.Patch(t.Context(), "foreign", types.MergePatchType, status, metav1.PatchOptions{}, "status")
	for what, err := range map[string]error{
		"the status of another": err,
		"deletion of another":   paces.Delete(t.Context(), "foreign", metav1.DeleteOptions{}),
		"all of them":           paces.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}),
	} {
		if problem := refused(err, "the agent of node own may not write NodePace"); problem != nil {
			t.Errorf("%s: %v", what, problem)
		}
	}
	generated := pace("")
	generated.SetGenerateName("own")
	if _, err := paces.Create(t.Context(), generated, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a generated name: %v", err)
	}
	must(t, paces.Delete(t.Context(), "own", metav1.DeleteOptions{}))
}
