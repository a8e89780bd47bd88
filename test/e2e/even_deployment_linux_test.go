package e2e_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

// The first cycle is due at once, the next in five minutes.
func TestOfTwoReplicasOfTheAppliedDeploymentOneActs(t *testing.T) {
	w := newWorld(t)
	w.install(t, "deployment")
	w.Kubectl(t, "scale", "deployment", "descheduler", "-n", "kube-system", "--replicas=0") // no fake pods of it
	w.pile(t, "web", 8)
	before := w.uids(t)

	deployment, err := w.Client.AppsV1().Deployments("kube-system").Get(t.Context(), "descheduler", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	command := w.process(t, deployment.Spec.Template.Spec)
	command.Args = append(command.Args, "--secure-port=0")                                                           // the two share this machine's ports
	t.Cleanup(func() { w.tidy(t, "", "delete", "lease", "descheduler", "-n", "kube-system", "--ignore-not-found") }) // killed processes keep it
	first := launchQuietly(t, command)
	first.await(t, "cycle done")
	second := launchQuietly(t, command)
	second.await(t, "the leader is")
	if strings.Contains(second.String(), "cycle done") {
		t.Error("both act")
	}
	w.awaitReady(t)
	if evicted := without(before, w.uids(t)); len(evicted) != 2 { // a quarter of eight
		t.Errorf("%d pods were evicted, want those of one cycle, 2: %v", len(evicted), evicted)
	}
}

// quiet is a process whose log is looked at, and that is killed with the test.
type quiet struct{ lockedBuffer }

// launchQuietly starts a copy of the command.
func launchQuietly(t *testing.T, command *exec.Cmd) *quiet {
	t.Helper()
	q := &quiet{}
	c := &exec.Cmd{Path: command.Path, Args: command.Args, Env: command.Env, Dir: command.Dir, SysProcAttr: command.SysProcAttr, Stderr: q}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return q
}

// await waits until the process has logged the text.
func (q *quiet) await(t *testing.T, text string) {
	t.Helper()
	harness.Await(t, 2*time.Minute, "a process that logs "+text, func(context.Context) error {
		if log := q.String(); !strings.Contains(log, text) {
			return errors.New(log)
		}
		return nil
	})
}
