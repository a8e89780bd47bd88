package cli_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"evenkeel.dev/evenkeel/internal/kube/stub"
)

// TestCommandsTakeTheContextOfAKubeconfig: the current one leads nowhere.
func TestCommandsTakeTheContextOfAKubeconfig(t *testing.T) {
	kubeconfig := file(t, "kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: away, users: [{name: u, user: {}}],
contexts: [{name: away, context: {cluster: away, user: u}}, {name: here, context: {cluster: here, user: u}}],
clusters: [{name: away, cluster: {server: "http://127.0.0.1:1"}}, {name: here, cluster: {server: %q}}]}`, stub.New(pile()).Start(t)))
	for _, args := range [][]string{{"plan"}, {"nodes"}, {"snapshot", "-o", t.TempDir() + "/file.json"}} {
		args = append(args, "--kubeconfig", kubeconfig)
		if code, _, errs := run(t, args...); code != 1 || !strings.Contains(errs, "127.0.0.1:1") {
			t.Errorf("%s without --context: exit status %d, want 1: %s", args[0], code, errs)
		}
		if code, _, errs := run(t, append(args, "--context", "here")...); code != 0 {
			t.Errorf("%s with --context: exit status %d: %s", args[0], code, errs)
		}
	}
}

// TestOddAnswersOfAServerAreOneError: what client-go logs by itself is not beside it.
func TestOddAnswersOfAServerAreOneError(t *testing.T) {
	var beside bytes.Buffer
	klog.ClearLogger()
	klog.LogToStderr(false)
	klog.SetOutput(&beside)
	defer klog.LogToStderr(true)
	for _, code := range []int{http.StatusForbidden, http.StatusOK, http.StatusBadGateway} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Warning", `299 - "client-go logs this"`)
			w.WriteHeader(code)
			fmt.Fprint(w, "<html>\x1b[31mlog in first</html>")
		}))
		defer server.Close()
		for _, args := range [][]string{{"plan"}, {"nodes"}, {"snapshot", "-o", t.TempDir() + "/file.json"}} {
			status, out, errs := run(t, append(args, "--kubeconfig", kubeconfigOf(t, server.URL))...)
			lines := strings.Split(strings.TrimSpace(errs), "\n")
			if status != 1 || out != "" || len(lines) != 1 || !strings.HasPrefix(errs, "evenkeel: ") || strings.Contains(errs, "\x1b") {
				t.Errorf("%s, HTTP status %d: exit status %d, want 1 and one line:\n%s", args[0], code, status, errs)
			}
		}
	}
	klog.Flush()
	if beside.Len() > 0 {
		t.Errorf("client-go wrote %s", beside.String())
	}
}
