package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStatusWithAWrongConfigurationSaysSoAndShowsTheRest(t *testing.T) {
	dir, _, standIn := folder(t)
	var out, errs strings.Builder
	if code := Run(t.Context(), Streams{Out: &out, Err: &errs}, []string{"install", "--bin-dir", dir, "--plugin", "bridge.exe", "--executable", standIn}); code != exitOK {
		t.Fatalf("install: exit code %d, %s%s", code, &out, &errs)
	}
	config := filepath.Join(dir, "agent.yaml")
	if err := os.WriteFile(config, []byte("pace: {limits: {maxConcurrent: none}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	args := []string{"status", "-o", "json", "--config", config, "--socket", filepath.Join(dir, "nobody"), "--bin-dir", dir, "--plugin", "bridge.exe"}
	if code := Run(t.Context(), Streams{Out: &out, Err: &errs}, args); code != exitOK {
		t.Fatalf("status: exit code %d, %s%s", code, &out, &errs)
	}
	var r statusReport
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) == 0 || !strings.Contains(r.Problems[0], config) || !strings.Contains(r.Problems[0], "maxConcurrent") {
		t.Errorf("problems: %q", r.Problems)
	}
	if r.Install == nil || !r.Install.Installed {
		t.Errorf("installed: %+v", r.Install)
	}
}
