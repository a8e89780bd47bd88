package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/test/harness"
)

// job is the process that the applied CronJob would start: its command and arguments, its user, its ConfigMap, its account's token.
type job struct{ command *exec.Cmd }

// result is what one run of a command came to.
type result struct {
	code             int
	output, complain string
}

// cronJob makes the next job, with what the ConfigMap holds now.
func (w *world) cronJob(t *testing.T) *job {
	t.Helper()
	cronJob, err := w.Client.BatchV1().CronJobs("kube-system").Get(t.Context(), "descheduler-cronjob", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if cronJob.Spec.Schedule != "*/5 * * * *" {
		t.Errorf("the schedule is %q", cronJob.Spec.Schedule)
	}
	return &job{w.process(t, cronJob.Spec.JobTemplate.Spec.Template.Spec)}
}

// process is what a pod of the spec would run. Our image has the program under the descheduler's name.
func (w *world) process(t *testing.T, spec corev1.PodSpec) *exec.Cmd {
	t.Helper()
	return w.Pod(t, "kube-system", spec, map[string]string{"/bin/descheduler": harness.Command(t, "evenkeel")})
}

// run runs the job with the CronJob's arguments and then these.
func (j *job) run(t *testing.T, args ...string) result {
	t.Helper()
	return runCommand(t, &exec.Cmd{
		Path: j.command.Path, Args: slices.Concat(j.command.Args, args), Env: j.command.Env, Dir: j.command.Dir,
		SysProcAttr: j.command.SysProcAttr,
	})
}

// runCommand runs a command to its end.
func runCommand(t *testing.T, command *exec.Cmd) result {
	t.Helper()
	var output, complain bytes.Buffer
	command.Stdout, command.Stderr = &output, &complain
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(3*time.Minute, func() { _ = command.Process.Kill() })
	defer timer.Stop()
	err := command.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{command.ProcessState.ExitCode(), output.String(), complain.String()}
}

// setPolicy writes a policy into the ConfigMap.
func (w *world) setPolicy(t *testing.T, policy string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"policy.yaml": policy}})
	if err != nil {
		t.Fatal(err)
	}
	w.Kubectl(t, "patch", "configmap", "descheduler-policy-configmap", "-n", "kube-system", "-p", string(patch))
	w.job = nil
}

// cycle runs the job once, checks that it evicted the pods of its plan and no others, waits until they are replaced, and returns the plan.
func (w *world) cycle(t *testing.T, args ...string) *plan.Plan {
	t.Helper()
	if w.job == nil {
		w.job = w.cronJob(t)
	}
	before := w.uids(t)
	r := w.job.run(t, append(args, "--output=json")...)
	after := w.uids(t)
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.complain)
	}
	p := decodePlan(t, r.output)
	planned := map[string]string{}
	for _, m := range p.Moves {
		planned[m.Pod.UID] = m.Pod.String()
		t.Logf("%s moves %s (%s) from %s: %s", m.Strategy, m.Pod, m.Owner.Kind, m.Node, m.Reason.Message)
	}
	if diff := cmp.Diff(planned, without(before, after)); diff != "" {
		t.Fatalf("pods of the plan and pods evicted (-planned +evicted):\n%s\n%s", diff, r.complain)
	}
	w.awaitReady(t)
	return p
}

// settle runs cycles until one moves nothing, and returns the plans of those before and the last one. It fails the test when so many have not
// been enough.
func (w *world) settle(t *testing.T, limit int, args ...string) (moved []*plan.Plan, last *plan.Plan) {
	t.Helper()
	for range limit {
		p := w.cycle(t, args...)
		if len(p.Moves) == 0 {
			return moved, p
		}
		moved = append(moved, p)
	}
	t.Fatalf("after %d runs there is still something to move", limit)
	return nil, nil
}

// rest checks that runs move nothing now.
func (w *world) rest(t *testing.T, runs int, args ...string) {
	t.Helper()
	before := w.uids(t)
	for range runs {
		if p := w.cycle(t, args...); len(p.Moves) > 0 {
			t.Errorf("a run moved %d pods although there was nothing to do", len(p.Moves))
		}
	}
	if diff := cmp.Diff(before, w.uids(t)); diff != "" {
		t.Errorf("pods before and after (-before +after):\n%s", diff)
	}
}

func decodePlan(t *testing.T, text string) *plan.Plan {
	t.Helper()
	var p plan.Plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("the plan is not JSON: %v\n%s", err, text)
	}
	if p.Kind != plan.Kind || p.APIVersion != plan.APIVersion {
		t.Errorf("the output is a %s %s", p.APIVersion, p.Kind)
	}
	return &p
}

// without returns the entries of a whose keys b does not have.
func without(a, b map[string]string) map[string]string {
	rest := maps.Clone(a)
	maps.DeleteFunc(rest, func(key, _ string) bool { _, found := b[key]; return found })
	return rest
}

// has says whether the pod is one of the workload's.
func (l workload) has(pod plan.PodRef) bool {
	return pod.Namespace == l.namespace && strings.HasPrefix(pod.Name, l.name+"-")
}

// movesOf counts the moves of the workload's pods.
func movesOf(p *plan.Plan, l workload) (count int) {
	for _, m := range p.Moves {
		if l.has(m.Pod) {
			count++
		}
	}
	return count
}

// refusalsOf are the gate's refusals that are about pods of the workload.
func refusalsOf(p *plan.Plan, l workload, gate string) (list []plan.Refusal) {
	for _, r := range p.Refusals {
		if r.Gate == gate && l.has(r.Pod) {
			list = append(list, r)
		}
	}
	return list
}
