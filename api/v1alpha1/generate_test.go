package v1alpha1_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGeneratedFilesAreInStepWithTheTypes generates them anew, with the generator's pinned version.
func TestGeneratedFilesAreInStepWithTheTypes(t *testing.T) {
	const crds = "../../deploy/kustomize/crds"
	made := t.TempDir()
	generate := exec.Command("go", "tool", "-modfile=../../tools/controller-gen/go.mod", "controller-gen", "object",
		"crd:allowDangerousTypes=true,maxDescLen=400", "paths=.", "output:dir="+made)
	if said, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, file := range []struct{ folder, name string }{
		{".", "zz_generated.deepcopy.go"},
		{crds, "evenkeel.dev_pacepolicies.yaml"},
		{crds, "evenkeel.dev_nodepaces.yaml"},
	} {
		want, err := os.ReadFile(filepath.Join(made, file.name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(file.folder, file.name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: run 'go generate ./api/...': (-generated +checked in)\n%s", file.name, diff)
		}
	}
}
