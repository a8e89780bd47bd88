package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/test/harness"
)

// inBothModes runs a test with our own choices and with the descheduler's.
func inBothModes(t *testing.T, test func(t *testing.T, w *world, flags ...string)) {
	t.Helper()
	t.Run("default", func(t *testing.T) { test(t, newWorld(t)) })
	t.Run("compat", func(t *testing.T) { test(t, newWorld(t), "--compat=descheduler") })
}

// enable writes a policy of one strategy into the ConfigMap.
func (w *world) enable(t *testing.T, point, strategy, args string) {
	t.Helper()
	w.setPolicy(t, fmt.Sprintf(`apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: test
  pluginConfig:
  - name: DefaultEvictor
  - name: %[2]s
    args: %[3]s
  plugins: {%[1]s: {enabled: [%[2]s]}}
`, point, strategy, args))
}

// settleWith runs cycles until one moves nothing, at most limit with moves, and checks that every move was the strategy's and had a
// pod that may move.
func (w *world) settleWith(t *testing.T, strategy string, limit int, may func(plan.Move) bool, flags ...string) {
	t.Helper()
	moved, last := w.settle(t, limit+1, flags...)
	if len(moved) == 0 {
		t.Errorf("nothing moved: %+v", last.Refusals)
	}
	for _, p := range moved {
		for _, m := range p.Moves {
			if m.Strategy != strategy || !may(m) || m.Reason.Code == "" || m.Reason.Message == "" {
				t.Errorf("unexpected move: %+v", m)
			}
		}
	}
	t.Logf("settled; runs that moved something: %d", len(moved))
}

// on is how many of a workload's pods the node has.
func (w *world) on(t *testing.T, node, name string) int {
	t.Helper()
	return harness.PerNode(w.Pods(t, w.namespace, "app="+name))[node]
}

func TestPodsLeaveANodeThatIsTaintedOrCordoned(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world, flags ...string) {
		w.nodes(t, "4", "one", "two", "three", "four")
		w.start(t, "web", 8, nil)
		w.start(t, "gpu", 4, func(spec *corev1.PodSpec) {
			spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}
		})
		w.enable(t, "deschedule", "RemovePodsViolatingNodeTaints", "{}")
		w.rest(t, 1, flags...)
		if w.on(t, "three", "web") == 0 || w.on(t, "four", "web") == 0 {
			t.Fatal("the nodes to be tainted have no pods")
		}

		tolerant := w.on(t, "three", "gpu")
		w.Kubectl(t, "taint", "node", "three", "dedicated=gpu:NoSchedule")
		w.settleWith(t, "RemovePodsViolatingNodeTaints", 3, from("three"), flags...)
		if web, gpu := w.on(t, "three", "web"), w.on(t, "three", "gpu"); web != 0 || gpu != tolerant {
			t.Errorf("the tainted node has %d pods that do not tolerate the taint, and %d of the %d that do", web, gpu, tolerant)
		}

		w.Kubectl(t, "cordon", "four")
		w.awaitTaint(t, "four", corev1.TaintNodeUnschedulable)
		w.settleWith(t, "RemovePodsViolatingNodeTaints", 4, from("four"), flags...)
		if web, gpu := w.on(t, "four", "web"), w.on(t, "four", "gpu"); web+gpu != 0 {
			t.Errorf("the cordoned node still has %d pods", web+gpu)
		}
	})
}

func from(node string) func(plan.Move) bool {
	return func(m plan.Move) bool { return m.Node == node }
}

func (w *world) awaitTaint(t *testing.T, name, key string) {
	t.Helper()
	harness.Await(t, time.Minute, "taint "+key, func(ctx context.Context) error {
		node, err := w.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == key }) {
			err = fmt.Errorf("taints: %v", node.Spec.Taints)
		}
		return err
	})
}

func TestPodsLeaveANodeThatLosesTheLabelTheyRequire(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world, flags ...string) {
		w.nodes(t, "4", "one", "two", "three")
		w.Kubectl(t, "label", "node", "one", "two", "disk=ssd")
		w.start(t, "web", 6, func(spec *corev1.PodSpec) {
			spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"},
				}}}},
			}}}
		})
		w.start(t, "other", 3, nil)
		w.enable(t, "deschedule", "RemovePodsViolatingNodeAffinity", "{nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}")
		w.rest(t, 1, flags...)

		web := w.workloads[0]
		w.Kubectl(t, "label", "node", "two", "disk=hdd", "--overwrite")
		w.Kubectl(t, "label", "node", "three", "disk=ssd")
		w.settleWith(t, "RemovePodsViolatingNodeAffinity", 4, func(m plan.Move) bool { return m.Node == "two" && web.has(m.Pod) }, flags...)
		if n := w.on(t, "two", "web"); n != 0 {
			t.Errorf("%d pods are still on the node that lost the label", n)
		}
	})
}

func TestPodsLeaveANodeWhereAPodGetsALabelTheyKeepAwayFrom(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world, flags ...string) {
		w.nodes(t, "4", "one", "two", "three")
		w.start(t, "batch", 1, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{corev1.LabelHostname: "one"} })
		w.start(t, "quiet", 6, func(spec *corev1.PodSpec) {
			spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"noisy": "true"}}, TopologyKey: corev1.LabelHostname,
			}}}}
		})
		w.enable(t, "deschedule", "RemovePodsViolatingInterPodAntiAffinity", "{}")
		w.rest(t, 1, flags...)
		if w.on(t, "one", "quiet") == 0 {
			t.Fatal("no pod is on the node of the one that will be noisy")
		}

		quiet := w.workloads[1]
		w.Kubectl(t, "label", "pod", "-n", w.namespace, "-l", "app=batch", "noisy=true")
		w.settleWith(t, "RemovePodsViolatingInterPodAntiAffinity", 4, func(m plan.Move) bool { return m.Node == "one" && quiet.has(m.Pod) }, flags...)
		if n := w.on(t, "one", "quiet"); n != 0 {
			t.Errorf("%d pods are still beside the noisy one", n)
		}
	})
}

func TestPodsSpreadIntoAZoneThatIsNew(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world, flags ...string) {
		w.nodes(t, "4", "one", "two", "three")
		w.Kubectl(t, "label", "node", "one", "zone=1")
		w.Kubectl(t, "label", "node", "two", "zone=2")
		w.start(t, "web", 6, func(spec *corev1.PodSpec) {
			spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			}}
		})
		w.enable(t, "balance", "RemovePodsViolatingTopologySpreadConstraint", "{}")
		w.rest(t, 1, flags...)

		w.Kubectl(t, "label", "node", "three", "zone=3")
		w.settleWith(t, "RemovePodsViolatingTopologySpreadConstraint", 4, func(m plan.Move) bool { return m.Node != "three" }, flags...)
		w.checkEven(t) // each zone is a node
	})
}

func TestPodsLeaveNodesThatAreFullForOneThatIsUncordoned(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world, flags ...string) {
		const target = 60 // percent of 4 CPUs
		w.nodes(t, "4", "one", "two", "three")
		w.Kubectl(t, "cordon", "three")
		w.start(t, "web", 12, func(spec *corev1.PodSpec) {
			spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
		})
		w.enable(t, "balance", "LowNodeUtilization", fmt.Sprintf("{thresholds: {cpu: 45}, targetThresholds: {cpu: %d}}", target))
		w.rest(t, 1, flags...)

		w.Kubectl(t, "uncordon", "three")
		w.settleWith(t, "LowNodeUtilization", 4, func(m plan.Move) bool { return m.Node != "three" }, flags...)
		for node, n := range harness.PerNode(w.Pods(t, w.namespace, "app=web")) {
			if percent := n * 500 * 100 / 4000; percent > target {
				t.Errorf("the pods of node %s request %d %% of its CPU, more than %d %%", node, percent, target)
			}
		}
	})
}
