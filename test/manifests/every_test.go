package manifests

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"evenkeel.dev/evenkeel/test/harness"
)

// TestEveryOverlayIsAcceptedByARealAPIServer applies and deletes each
// kustomization under deploy, in a cluster of its own since some change what
// the API server admits. Custom resources' definitions come first.
func TestEveryOverlayIsAcceptedByARealAPIServer(t *testing.T) {
	cluster := harness.Start(t, harness.Options{})
	cluster.Kubectl(t, "apply", "-k", "deploy/kustomize/crds")
	cluster.Kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	for _, folder := range kustomizations(t) {
		if folder == "deploy/kustomize/crds" {
			continue
		}
		t.Run(folder, func(t *testing.T) {
			cluster.Kubectl(t, "apply", "-k", folder)
			cluster.Kubectl(t, "delete", "-k", folder, "--wait=true", "--timeout=60s")
		})
	}
}

// kustomizations lists the folders with a complete kustomization, relative to
// the root; components are parts of others.
func kustomizations(t *testing.T) []string {
	t.Helper()
	root := harness.Root(t)
	var found []string
	err := filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if entry.Name() != "kustomization.yaml" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Contains(data, []byte("kind: Component")) {
			folder, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			found = append(found, filepath.ToSlash(folder))
		}
		return nil
	})
	fatal(t, err)
	return found
}
