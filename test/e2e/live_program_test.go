package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/test/harness"
)

// program is a running evenkeel process.
type program struct {
	command        *exec.Cmd
	stdout, stderr lockedBuffer
	ended          chan struct{}
	code           int
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// built is the program, as bytes: it is built once, and a test's folders go with the test.
var built struct {
	sync.Mutex
	program []byte
}

// descheduler returns the path of the program, under the name that manifests use.
func descheduler(t *testing.T) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.program == nil {
		data, err := os.ReadFile(harness.Command(t, "evenkeel"))
		if err != nil {
			t.Fatal(err)
		}
		built.program = data
	}
	path := filepath.Join(t.TempDir(), "descheduler")
	if err := os.WriteFile(path, built.program, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// launchProgram starts the program; it is killed at the end of the test, if it still runs then.
func launchProgram(t *testing.T, path string, env []string, args ...string) *program {
	t.Helper()
	p := &program{command: exec.Command(path, args...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = &p.stdout, &p.stderr
	p.command.Env = append(os.Environ(), env...)
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		var exit *exec.ExitError
		if err := p.command.Wait(); errors.As(err, &exit) {
			p.code = exit.ExitCode()
		}
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("%s %s\nstandard output:\n%s\nstandard error:\n%s", filepath.Base(path), strings.Join(args, " "), p.stdout.String(), p.stderr.String())
		}
	})
	return p
}

// wait waits until the program has ended and returns its exit code.
func (p *program) wait(t *testing.T, timeout time.Duration) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.code
	case <-time.After(timeout):
		t.Fatalf("the program still runs after %s", timeout)
		return -1
	}
}

func (p *program) terminate(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// says waits until the program has logged the text.
func (p *program) says(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(p.stderr.String(), text); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not log %q", text)
		}
	}
}

// evenReplicas writes a policy that evens out the replicas in the namespaces, on the nodes with the label group=GROUP.
func evenReplicas(t *testing.T, group string, namespaces ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	text := fmt.Sprintf(`apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
nodeSelector: group=%s
profiles:
- name: even
  pluginConfig:
  - name: RemoveDuplicates
    args: {namespaces: {include: [%s]}}
  plugins: {balance: {enabled: [RemoveDuplicates]}}
`, group, strings.Join(namespaces, ", "))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
