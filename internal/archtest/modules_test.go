package archtest

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

func TestEveryDirectDependencyHasItsLine(t *testing.T) {
	const record = "docs/adr/0004-third-party-modules.md"
	lines := string(readFile(t, record))
	command := exec.Command("go", "mod", "edit", "-json")
	command.Dir = root
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(output, &file); err != nil {
		t.Fatal(err)
	}
	for _, required := range file.Require {
		if !required.Indirect && !strings.Contains(lines, "`"+required.Path+"`") {
			t.Errorf("module %s is required directly and has no line in %s: say what it saves us from writing", required.Path, record)
		}
	}
}
