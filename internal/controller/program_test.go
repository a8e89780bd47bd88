package controller_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/controller"
)

const policyText = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
gracePeriodSeconds: %d
profiles:
- name: p
  pluginConfig:
  - name: RemoveDuplicates
  plugins: {balance: {enabled: [RemoveDuplicates]}}
`

func policyFile(t *testing.T, text string) (*controller.PolicyFile, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &controller.PolicyFile{Path: path, Log: slog.New(slog.NewTextHandler(&log, nil))}, &log
}

func grace(t *testing.T, f *controller.PolicyFile) int64 {
	t.Helper()
	program, err := f.Program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return *program.Evictions.GracePeriodSeconds
}

func TestChangedPolicyIsInForceInTheNextCycle(t *testing.T) {
	f, _ := policyFile(t, strings.Replace(policyText, "%d", "1", 1))
	loads := 0
	f.Loaded = func(error) { loads++ }
	if err := f.Load(); err != nil {
		t.Fatal(err)
	}
	if got := grace(t, f); got != 1 {
		t.Errorf("grace period %d, want 1", got)
	}
	if err := os.WriteFile(f.Path, []byte(strings.Replace(policyText, "%d", "2", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := grace(t, f); got != 2 {
			t.Errorf("grace period %d, want 2", got)
		}
	}
	if loads != 2 {
		t.Errorf("loaded %d times, want 2", loads)
	}
}

func TestUnusablePolicyKeepsTheOneOfBeforeAndSaysSoInEveryCycle(t *testing.T) {
	f, log := policyFile(t, strings.Replace(policyText, "%d", "1", 1))
	if err := f.Load(); err != nil {
		t.Fatal(err)
	}
	failed := 0
	f.Loaded = func(err error) {
		if err != nil {
			failed++
		}
	}
	if err := os.WriteFile(f.Path, []byte(strings.Replace(policyText, "%d", "-5", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if got := grace(t, f); got != 1 {
			t.Errorf("grace period %d, want 1", got)
		}
		if n := strings.Count(log.String(), "stays in force"); n != i+1 {
			t.Errorf("said %d times, want %d", n, i+1)
		}
	}
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	if got := grace(t, f); got != 1 || failed != 1 {
		t.Errorf("without the file: grace period %d; %d failed loads were told, want 1", got, failed)
	}
}

func TestBadPolicyAtTheStartIsAnError(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "unknown plugin": strings.ReplaceAll(policyText, "RemoveDuplicates", "Nonsense"), "binary": "\xff\x00"} {
		f, _ := policyFile(t, text)
		if err := f.Load(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := (&controller.PolicyFile{Path: filepath.Join(t.TempDir(), "none")}).Load(); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("got %v, want an error that names the file", err)
	}
	if err := (&controller.PolicyFile{}).Load(); err == nil || !strings.Contains(err.Error(), "--policy-config-file") {
		t.Errorf("got %v, want an error that names the flag", err)
	}
}
