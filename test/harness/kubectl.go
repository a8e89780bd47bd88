package harness

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Kubectl runs the real kubectl as the administrator, in the repository's
// root, and returns its standard output. It fails the test if kubectl does.
func (c *Cluster) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	return c.KubectlInput(t, "", args...)
}

// KubectlInput is Kubectl with standard input: c.KubectlInput(t, manifest,
// "apply", "-f", "-").
func (c *Cluster) KubectlInput(t testing.TB, input string, args ...string) string {
	t.Helper()
	output, err := c.TryKubectl(t, c.Kubeconfig, input, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return output
}

// TryKubectl runs kubectl with any kubeconfig, for tests that expect a
// refusal: the error holds what kubectl wrote to its standard error.
func (c *Cluster) TryKubectl(t testing.TB, kubeconfig, input string, args ...string) (string, error) {
	t.Helper()
	command := exec.Command("kubectl", append([]string{"--cache-dir=" + filepath.Join(c.Dir, "kubectl")}, args...)...)
	command.Dir = Root(t)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	command.Stdin = bytes.NewReader([]byte(input))
	output, err := command.Output()
	return string(output), describe(err)
}
