package admission_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/test/harness"
)

// TestTaintSurvivesARestartOfTheAPIServer has a control plane of its own, whose API server is killed and started again.
func TestTaintSurvivesARestartOfTheAPIServer(t *testing.T) {
	cluster := harness.Start(t, harness.Options{})
	server := webhook(t, cluster)
	backstop := controller(t, cluster, "--grace=10m")
	restartAPIServer(t, cluster)

	awaitTaint(t, cluster, 1)
	if registered := register(t, cluster, windowsNode("win-after")); ours(registered) != 1 {
		t.Errorf("by the webhook: taints %v", registered.Spec.Taints)
	}
	policy(t, cluster)
	awaitPolicyFirst(t, cluster, server)
	restartAPIServer(t, cluster)
	awaitPolicyFirst(t, cluster, server)
	if registered := register(t, cluster, windowsNode("win-last")); ours(registered) != 1 {
		t.Errorf("by the policy: taints %v", registered.Spec.Taints)
	}
	for _, p := range []*process{server, backstop} {
		if err := p.terminate(); err != nil {
			t.Errorf("%v ended with %v:\n%s", p.command.Args[1], err, p.log)
		}
	}
}

// restartAPIServer kills the API server and starts it with the same arguments. Its new process takes the old one's place in the control
// plane's files, so that it ends with the others.
func restartAPIServer(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	pidFile := filepath.Join(cluster.Dir, "pid/kube-apiserver")
	text, err := os.ReadFile(pidFile)
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	must(t, err)
	args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	// Its first thread can be a zombie while another still holds the socket: the port tells when all of it is gone.
	address := strings.TrimPrefix(cluster.Config.Host, "https://")
	harness.Await(t, time.Minute, "the API server is gone", func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			return errors.New("it listens")
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		return nil
	})
	log, err := os.OpenFile(filepath.Join(cluster.Dir, "log/kube-apiserver.log"), os.O_APPEND|os.O_WRONLY, 0o644)
	must(t, err)
	defer log.Close()
	again := exec.Command(args[0], args[1:]...)
	again.Stdout, again.Stderr = log, log
	must(t, again.Start())
	ended := make(chan error, 1)
	go func() { ended <- again.Wait() }()
	must(t, os.WriteFile(pidFile, []byte(strconv.Itoa(again.Process.Pid)), 0o644))
	t.Cleanup(func() {
		if data, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the API server's log ends with\n%s", data[max(0, len(data)-2000):])
		}
	})
	harness.Await(t, 3*time.Minute, "the API server is ready again", func(ctx context.Context) error {
		select {
		case err := <-ended:
			t.Fatalf("the API server ended: %v", err)
		default:
		}
		return cluster.Client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}
