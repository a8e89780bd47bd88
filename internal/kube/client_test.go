package kube_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/kube/stub"
)

type snapshot = cluster.Snapshot

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}]}`, server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestKubeconfigThatIsNotThereIsNamed(t *testing.T) {
	_, err := kube.Connection{Kubeconfig: "no/such/file"}.Connect()
	if err == nil || !strings.Contains(err.Error(), `"no/such/file"`) {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

func TestServerVersionIsRead(t *testing.T) {
	client := connect(t, stub.New(nil))
	v, err := client.ServerVersion(t.Context())
	if err != nil || v.Minor != "36" {
		t.Errorf("got %v, %v; want minor version 36", v, err)
	}
}

func TestCheckEviction(t *testing.T) {
	s := stub.New(nil)
	client := connect(t, s)
	if err := client.CheckEviction(t.Context()); err != nil {
		t.Errorf("offered, and got: %v", err)
	}
	s = stub.New(nil)
	s.Answer = func(*http.Request) *apierrors.StatusError { return apierrors.NewUnauthorized("who are you?") }
	if err := connect(t, s).CheckEviction(t.Context()); !apierrors.IsUnauthorized(err) {
		t.Errorf("refused, and got: %v", err)
	}
}
