package pacepolicy

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"evenkeel.dev/evenkeel/test/harness"
)

func TestTheDocumentedPoliciesAreAccepted(t *testing.T) {
	cluster := harness.ControlPlane(t)
	installCRDs(t, cluster)
	text, err := os.ReadFile(filepath.Join(harness.Root(t), "docs/pace-policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Fatal("no policies in the document")
	}
	for _, block := range blocks {
		cluster.KubectlInput(t, string(block[1]), "apply", "--dry-run=server", "-f", "-")
	}
}
