package cli_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/internal/cli"
	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/kube/stub"
)

// machines is pile with pods of virtual machines, which another controller moves.
func machines() *stub.Server {
	objects := pile()
	for _, o := range objects["pods"].(stub.Slice) {
		o.(*corev1.Pod).Annotations = map[string]string{cluster.AnnotationRequestEvictOnly: ""}
	}
	s := stub.New(objects)
	s.Evict = func(string, *policyv1.Eviction) *apierrors.StatusError {
		return apierrors.NewTooManyRequests("Eviction triggered evacuation of the machine", 0)
	}
	return s
}

// stopAfter is a log that stops the program after a number of cycles.
type stopAfter struct {
	mu     sync.Mutex
	text   bytes.Buffer
	cycles int
	stop   func()
}

func (w *stopAfter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(string(p), "cycle done") {
		if w.cycles--; w.cycles == 0 {
			w.stop()
		}
	}
	return w.text.Write(p)
}

// TestEvictionsInTheBackgroundCountInTheNextCycle: the limit is one pod, another controller has accepted to move it, and nothing of that is
// to be seen on the pod yet.
func TestEvictionsInTheBackgroundCountInTheNextCycle(t *testing.T) {
	for _, c := range []struct {
		gate string
		want int
		log  []string
	}{
		{"true", 1, []string{"background=1", "moves=0 refusals=2"}}, // of the two to move, one is being moved, and the other would be one too many
		{"false", 3, []string{"blocked=1", "moves=1 refusals=1"}},   // the 429 means no, and each cycle tries again
	} {
		t.Run("gate="+c.gate, func(t *testing.T) {
			s := machines()
			ctx, stop := context.WithCancel(t.Context())
			log := &stopAfter{cycles: 3, stop: stop}
			cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: log}, []string{
				"descheduler", "--client-connection-kubeconfig=" + kubeconfigOf(t, s.Start(t)), "--secure-port=0", "--descheduling-interval=1ms",
				"--policy-config-file=" + file(t, "policy.yaml", "maxNoOfPodsToEvictTotal: 1\n"+duplicates), "--compat=descheduler",
				"--feature-gates=EvictionsInBackground=" + c.gate,
			})
			got := evictions(s)
			for _, text := range c.log {
				if len(got) != c.want || !strings.Contains(log.text.String(), text) {
					t.Errorf("asked for %q in three cycles, want %d, and %q in\n%s", got, c.want, text, log.text.String())
				}
			}
		})
	}
}
