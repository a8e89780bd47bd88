package e2e_test

import (
	"context"
	"fmt"
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
	command.Args = append(command.Args, "--secure-port=0") // the two share this machine's ports
	logs := []*lockedBuffer{launchQuietly(t, command), launchQuietly(t, command)}
	harness.Await(t, 2*time.Minute, "one cycle, and two processes that know who leads", func(context.Context) error {
		a, b := logs[0].String(), logs[1].String()
		if !strings.Contains(a, "the leader is") || !strings.Contains(b, "the leader is") || !strings.Contains(a+b, "cycle done") {
			return fmt.Errorf("%s\n%s", a, b)
		}
		return nil
	})
	if cycles := strings.Count(logs[0].String()+logs[1].String(), "cycle done"); cycles != 1 {
		t.Errorf("%d cycles were done, want that of the leader alone", cycles)
	}
	w.awaitReady(t)
	if evicted := without(before, w.uids(t)); len(evicted) != 2 { // a quarter of eight
		t.Errorf("%d pods were evicted, want those of one cycle, 2: %v", len(evicted), evicted)
	}
}

// launchQuietly starts a copy of the command, which is killed with the test, and returns its standard error.
func launchQuietly(t *testing.T, command *exec.Cmd) *lockedBuffer {
	t.Helper()
	log := &lockedBuffer{}
	c := &exec.Cmd{Path: command.Path, Args: command.Args, Env: command.Env, Dir: command.Dir, SysProcAttr: command.SysProcAttr, Stderr: log}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return log
}
