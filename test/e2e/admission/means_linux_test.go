package admission_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"

	"evenkeel.dev/evenkeel/test/harness"
)

const overlays = "deploy/kustomize/admission/"

// applyOverlay does what a user does, and undoes it after the test.
func applyOverlay(t *testing.T, cluster *harness.Cluster, name string) {
	t.Helper()
	if cluster.Kubectl(t, "get", "mutatingadmissionpolicybindings,mutatingwebhookconfigurations", "-o", "name") == "" {
		// What an earlier test deleted still acts for a moment, and would be taken for what this one applies.
		awaitTaint(t, cluster, 0)
	}
	cluster.Kubectl(t, "apply", "-k", overlays+name)
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "-k", overlays+name, "--ignore-not-found") })
}

// policy applies the MutatingAdmissionPolicy and awaits that it acts.
func policy(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	applyOverlay(t, cluster, "policy")
	awaitTaint(t, cluster, 1)
}

// process is one of our programs at work.
type process struct {
	command *exec.Cmd
	log     *lockedBuffer
	ended   chan error
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func run(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(program, args...), log: &lockedBuffer{}, ended: make(chan error, 1)}
	p.command.Stdout, p.command.Stderr = p.log, p.log
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, p.command.Start())
	go func() { p.ended <- p.command.Wait() }()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		if t.Failed() {
			t.Logf("%s %v wrote:\n%s", filepath.Base(program), args, p.log)
		}
	})
	return p
}

// terminate stops the program as kubelet does, and returns how it ended.
func (p *process) terminate() error {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	return <-p.ended
}

// webhook runs `evenkeel webhook` with its manifests' rights, and has the API server call it on this machine.
func webhook(t *testing.T, cluster *harness.Cluster, extra ...string) *process {
	t.Helper()
	applyOverlay(t, cluster, "webhook")
	t.Cleanup(func() {
		cluster.Kubectl(t, "delete", "secret", "evenkeel-webhook", "-n", "kube-system", "--ignore-not-found")
	})
	port := freePort(t)
	p := runWebhook(t, cluster, port, extra...)
	callURL(t, cluster, "https://"+address(port)+"/taint", nil)
	awaitTaint(t, cluster, 1)
	return p
}

func runWebhook(t *testing.T, cluster *harness.Cluster, port int, extra ...string) *process {
	t.Helper()
	kubeconfig := cluster.KubeconfigFor(t, "kube-system", "evenkeel-webhook")
	return run(t, harness.Command(t, "evenkeel"), append([]string{
		"webhook", "--kubeconfig=" + kubeconfig, "--listen=" + address(port), "--host=127.0.0.1", "--check-interval=1s", "--drain=100ms",
	}, extra...)...)
}

// callURL replaces the Service in the webhook configuration, which nothing in a control plane without nodes can reach, by a URL.
func callURL(t *testing.T, cluster *harness.Cluster, url string, bundle []byte) {
	t.Helper()
	client := fmt.Sprintf(`{"url":%q}`, url)
	if bundle != nil {
		client = fmt.Sprintf(`{"url":%q,"caBundle":%q}`, url, base64.StdEncoding.EncodeToString(bundle))
	}
	cluster.Kubectl(t, "patch", "mutatingwebhookconfiguration", "evenkeel-bootstrap-taint", "--type=json",
		"-p", `[{"op":"replace","path":"/webhooks/0/clientConfig","value":`+client+`}]`)
}

// worker runs the edge worker in its own runtime and has the API server call it.
func worker(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	folder := filepath.Join(harness.Root(t), "deploy/worker/test")
	if _, err := os.Stat(filepath.Join(folder, "node_modules/miniflare")); err != nil {
		t.Fatalf("the worker's runtime is not installed; 'make test-worker' does that: %v", err)
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	must(t, err)
	certFile, keyFile := filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	must(t, os.WriteFile(certFile, cert, 0o600))
	must(t, os.WriteFile(keyFile, key, 0o600))
	port := freePort(t)
	command := exec.Command("node", filepath.Join(folder, "serve.js"), strconv.Itoa(port), certFile, keyFile)
	command.Env = append(os.Environ(), "PATH_SECRET=s3cr3t")
	log := &lockedBuffer{}
	command.Stdout, command.Stderr = log, log
	stdin, err := command.StdinPipe()
	must(t, err)
	must(t, command.Start())
	t.Cleanup(func() { stdin.Close(); _ = command.Wait() })
	harness.Await(t, time.Minute, "the worker", func(context.Context) error {
		if !strings.Contains(log.String(), "ready") {
			return fmt.Errorf("it wrote %q", log)
		}
		return nil
	})
	applyOverlay(t, cluster, "worker")
	callURL(t, cluster, "https://"+address(port)+"/taint/s3cr3t", cert)
	awaitTaint(t, cluster, 1)
}

// dryRun returns what would become of a new Windows node.
func dryRun(ctx context.Context, cluster *harness.Cluster, name string) (*corev1.Node, error) {
	return cluster.Client.CoreV1().Nodes().Create(ctx, windowsNode(name), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// awaitTaint waits until a new node would get the taint so often.
func awaitTaint(t *testing.T, cluster *harness.Cluster, times int) {
	t.Helper()
	harness.Await(t, time.Minute, fmt.Sprintf("%d bootstrap taints on a new node", times), func(ctx context.Context) error {
		probe, err := dryRun(ctx, cluster, "probe")
		if err == nil && ours(probe) != times {
			err = fmt.Errorf("taints %v", probe.Spec.Taints)
		}
		return err
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
