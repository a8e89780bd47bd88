package admission_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"evenkeel.dev/evenkeel/test/harness"
)

// TestCertificatesAreRenewedUnderLoadAndNoRequestIsLost lets authorities live for 45 seconds and certificates for 15, and creates nodes all
// the time until the first authority has been replaced and has ended. The webhook's failures are made to count: failurePolicy is Fail.
func TestCertificatesAreRenewedUnderLoadAndNoRequestIsLost(t *testing.T) {
	cluster := harness.ControlPlane(t)
	webhook(t, cluster, "--authority-life=45s", "--certificate-life=15s", "--settle=3s", "--check-interval=500ms")
	cluster.Kubectl(t, "patch", "mutatingwebhookconfiguration", "evenkeel-bootstrap-taint", "--type=json", "-p",
		`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"},{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":30}]`)

	load := startLoad(t, cluster)
	first, seen := bundle(t, cluster), map[[32]byte]bool{}
	harness.Await(t, 4*time.Minute, "the first authority is gone", func(context.Context) error {
		certificate := secret(t, cluster)
		seen[sha256.Sum256(certificate["ca.crt"])] = true
		seen[sha256.Sum256(certificate["tls.crt"])] = true
		if len(seen) < 9 || bytes.Contains(bundle(t, cluster), first) {
			return fmt.Errorf("%d different authorities and certificates so far", len(seen))
		}
		return nil
	})
	requests, problems := load.stop()
	if requests < 100 || len(problems) > 0 {
		t.Errorf("%d requests; %d failed or went untainted, such as %v", requests, len(problems), problems[:min(3, len(problems))])
	}
	t.Logf("%d nodes through %d different authorities and certificates", requests, len(seen))
}

// load creates nodes without end, each over connections of its own so that API server and webhook are both busy.
type load struct {
	halt     context.CancelFunc
	workers  sync.WaitGroup
	requests atomic.Int64
	mu       sync.Mutex
	problems []error
}

func startLoad(t *testing.T, cluster *harness.Cluster) *load {
	t.Helper()
	ctx, halt := context.WithCancel(t.Context())
	l := &load{halt: halt}
	t.Cleanup(halt)
	for i := range 2 {
		client, err := kubernetes.NewForConfig(rest.CopyConfig(cluster.Config))
		must(t, err)
		l.workers.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				created, err := client.CoreV1().Nodes().Create(ctx, windowsNode(fmt.Sprintf("load-%d", i)), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if err == nil && ours(created) != 1 {
					err = fmt.Errorf("taints %v", created.Spec.Taints)
				}
				if err != nil && ctx.Err() == nil {
					l.mu.Lock()
					l.problems = append(l.problems, err)
					l.mu.Unlock()
				}
				l.requests.Add(1)
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	return l
}

func (l *load) stop() (int64, []error) {
	l.halt()
	l.workers.Wait()
	return l.requests.Load(), l.problems
}

func bundle(t *testing.T, cluster *harness.Cluster) []byte {
	t.Helper()
	found, err := cluster.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "evenkeel-bootstrap-taint", metav1.GetOptions{})
	must(t, err)
	return found.Webhooks[0].ClientConfig.CABundle
}

func secret(t *testing.T, cluster *harness.Cluster) map[string][]byte {
	t.Helper()
	found, err := cluster.Client.CoreV1().Secrets("kube-system").Get(t.Context(), "evenkeel-webhook", metav1.GetOptions{})
	must(t, err)
	return found.Data
}

func TestReplicasShareOneAuthorityAndOneMayStop(t *testing.T) {
	cluster := harness.ControlPlane(t)
	first := webhook(t, cluster)
	port := freePort(t)
	runWebhook(t, cluster, port)
	before := bundle(t, cluster)
	callURL(t, cluster, "https://"+address(port)+"/taint", nil)
	awaitTaint(t, cluster, 1)
	if err := first.terminate(); err != nil {
		t.Errorf("told to stop, the first ended with %v", err)
	}
	awaitTaint(t, cluster, 1)
	if !bytes.Equal(bundle(t, cluster), before) {
		t.Error("the second replica made an authority of its own")
	}
}

// TestWebhookOwnsNothingButTheBundle applies the manifest again, as GitOps does, and looks at who owns what.
func TestWebhookOwnsNothingButTheBundle(t *testing.T) {
	cluster := harness.ControlPlane(t)
	applyOverlay(t, cluster, "webhook")
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "secret", "evenkeel-webhook", "-n", "kube-system") })
	runWebhook(t, cluster, freePort(t))
	harness.Await(t, time.Minute, "a bundle", func(context.Context) error {
		if len(bundle(t, cluster)) == 0 {
			return errors.New("none")
		}
		return nil
	})
	found, err := cluster.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "evenkeel-bootstrap-taint", metav1.GetOptions{})
	must(t, err)
	var owned string
	for _, entry := range found.ManagedFields {
		if entry.Manager == "evenkeel-webhook" {
			owned += entry.FieldsV1.GetRawString()
		}
	}
	const want = `{"f:webhooks":{"k:{\"name\":\"bootstrap-taint.evenkeel.dev\"}":{".":{},"f:clientConfig":{"f:caBundle":{}},"f:name":{}}}}`
	if owned != want {
		t.Errorf("the webhook owns %s\nwant %s", owned, want)
	}
	before := bundle(t, cluster)
	cluster.Kubectl(t, "apply", "-k", overlays+"webhook")
	cluster.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-k", overlays+"webhook")
	if !bytes.Equal(bundle(t, cluster), before) {
		t.Error("applying the manifest again took the bundle away")
	}
	cluster.Kubectl(t, "patch", "mutatingwebhookconfiguration", "evenkeel-bootstrap-taint", "--type=json",
		"-p", `[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)
	harness.Await(t, time.Minute, "the bundle after somebody took it away", func(context.Context) error {
		if !bytes.Equal(bundle(t, cluster), before) {
			return errors.New("another bundle")
		}
		return nil
	})
}
