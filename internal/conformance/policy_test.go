package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	"evenkeel.dev/evenkeel/internal/conformance"
)

// TestPoliciesAreReadAsRecorded runs the recorded policy cases where they are.
func TestPoliciesAreReadAsRecorded(t *testing.T) {
	dir := os.Getenv("EVENKEEL_CONFORMANCE")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "conformance")
	}
	files, err := filepath.Glob(filepath.Join(dir, "policy", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no recorded cases in %s", dir)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := conformance.RunPolicyCase(data); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRunPolicyCaseTellsWhatDiffers(t *testing.T) {
	for name, text := range map[string]string{
		"valid expected":   `{"kind":"validateArgs","plugin":"RemovePodsViolatingNodeAffinity","args":{},"expected":{"valid":true}}`,
		"error expected":   `{"kind":"validateArgs","plugin":"RemoveDuplicates","args":{},"expected":{"valid":false,"error":"no"}}`,
		"default expected": `{"kind":"defaultArgs","plugin":"RemoveFailedPods","args":{},"expected":{"args":{"minPodLifetimeSeconds":60}}}`,
		"unknown plugin":   `{"kind":"defaultArgs","plugin":"Nothing","args":{},"expected":{"args":{}}}`,
		"unknown kind":     `{"kind":"guess","expected":{}}`,
		"no case":          `{`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := conformance.RunPolicyCase([]byte(text)); err == nil {
				t.Error("got no difference")
			}
		})
	}
}
