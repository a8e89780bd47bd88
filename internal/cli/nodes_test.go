package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/admission"
)

func aNode(name string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints}}
}

func aPod(node string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
}

func anAgent(node string, ready corev1.ConditionStatus) *corev1.Pod {
	p := aPod(node, corev1.PodRunning)
	p.Labels = map[string]string{"app.kubernetes.io/name": "evenkeel", "app.kubernetes.io/component": "agent"}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return p
}

func aPace(node string, ready metav1.ConditionStatus, waitingSince *metav1.Time) *v1alpha1.NodePace {
	s := v1alpha1.NodePaceStatus{
		Limit: 3, Starting: 2, WaitingSince: waitingSince,
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: ready}},
	}
	if waitingSince != nil {
		s.Waiting = 17
		s.Policy = "windows"
	}
	return &v1alpha1.NodePace{ObjectMeta: metav1.ObjectMeta{Name: node}, Status: s}
}

func aWorld(now time.Time) nodeWorld {
	since := metav1.NewTime(now.Add(-95 * time.Second))
	taint := admission.Default()
	return nodeWorld{
		taint: taint,
		nodes: []*corev1.Node{
			aNode("new", corev1.Taint{Key: taint.Key, Effect: taint.Effect}),
			aNode("busy", corev1.Taint{Key: taint.Key, Effect: corev1.TaintEffectNoExecute}), // another taint of that key
			aNode("outside"), aNode("crashed"), aNode("bare-with-a-long-name"),
		},
		pods: []*corev1.Pod{
			anAgent("new", corev1.ConditionFalse),
			anAgent("busy", corev1.ConditionFalse), anAgent("busy", corev1.ConditionTrue), // in the middle of an upgrade
			aPod("busy", corev1.PodPending), aPod("busy", corev1.PodRunning), aPod("busy", corev1.PodSucceeded), aPod("", corev1.PodPending),
			anAgent("crashed", corev1.ConditionFalse),
		},
		paces: []*v1alpha1.NodePace{
			aPace("busy", metav1.ConditionTrue, &since), aPace("crashed", metav1.ConditionTrue, nil),
			aPace("outside", metav1.ConditionFalse, nil), aPace("deleted", metav1.ConditionTrue, nil),
		},
	}
}

func TestNodesShowsTaintAgentAndQueueOfEachNode(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	if err := (&nodeTable{w: &out}).print(aWorld(now).rows(now), now, true); err != nil {
		t.Fatal(err)
	}
	want := `
NODE                    TAINT   AGENT      LIMIT   STARTING   WAITING   LONGEST WAIT   POLICY    PODS
bare-with-a-long-name   -       -          -       -          -         -              -         0
busy                    -       Ready      3       2          17        95s            windows   4
crashed                 -       NotReady   3       2          0         -              -         1
new                     yes     NotReady   -       -          -         -              -         1
outside                 -       NotReady   3       2          0         -              -         0
`
	if diff := cmp.Diff(want[1:], out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWatchPrintsChangedAndGoneNodesInTheSameColumns(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	world := aWorld(now)
	before := world.rows(now)
	if changed := changedRows(before, world.rows(now.Add(time.Minute))); len(changed) > 0 {
		t.Errorf("time alone changes rows: %v", changed)
	}
	world.nodes = world.nodes[1:]
	world.pods = append(world.pods, aPod("bare-with-a-long-name", corev1.PodRunning))
	var out bytes.Buffer
	table := &nodeTable{w: &out}
	if err := table.print(before, now, true); err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(out.String(), "\n")
	out.Reset()
	if err := table.print(changedRows(before, world.rows(now)), now, false); err != nil {
		t.Fatal(err)
	}
	want := `
bare-with-a-long-name   -       -          -       -          -         -              -         1
new                     (gone)
`
	if diff := cmp.Diff(want[1:], out.String()); diff != "" {
		t.Errorf("below %s\n%s", header, diff)
	}
}

func TestNodesRefusesAFormatThatItDoesNotHave(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Run(t.Context(), Streams{Out: &out, Err: &errs}, []string{"evenkeel", "nodes", "-o", "xml"}); code != ExitUsage {
		t.Errorf("exit status %d, want %d: %s", code, ExitUsage, errs.String())
	}
	if !strings.Contains(errs.String(), "the formats are table, json") {
		t.Errorf("no hint: %s", errs.String())
	}
}
