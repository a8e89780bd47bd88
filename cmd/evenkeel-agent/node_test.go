package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/sock"
)

// node is a plugin folder with an agent: real processes throughout. The test is
// its kubelet.
type node struct {
	t                     *testing.T
	dir, bin, plugin      string
	agent, standIn        string
	socket, pods, config  string
	pluginTime, retryWait time.Duration

	mu      sync.Mutex
	process *exec.Cmd
	log     *lockedBuffer
}

func newNode(t *testing.T, config string) *node {
	t.Helper()
	n := &node{t: t, dir: shortDir(t), pluginTime: 200 * time.Millisecond, retryWait: 300 * time.Millisecond, log: &lockedBuffer{}}
	n.agent, n.standIn = programs(t)
	n.bin, n.pods, n.config = filepath.Join(n.dir, "bin"), filepath.Join(n.dir, "pods"), filepath.Join(n.dir, "config.yaml")
	n.plugin = filepath.Join(n.bin, pluginBase+filepath.Ext(n.agent))
	n.socket = filepath.Join(n.dir, "run", "agent.sock")
	if runtime.GOOS == "windows" {
		n.socket = `\\.\pipe\` + filepath.Base(n.dir)
		n.pluginTime = time.Second // more than process starts take under Wine, or no two would be seen at once
	}
	for _, d := range []string{n.bin, n.pods} {
		n.must(os.MkdirAll(d, 0o755))
	}
	n.must(n.writePlugin("v1"))
	n.must(os.WriteFile(n.config, []byte(config), 0o644))
	t.Cleanup(n.kill)
	return n
}

func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "ek")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatalf("%v\nagent:\n%s", err, n.log)
	}
}

// writePlugin writes this test's executable over whatever is the plugin, as
// installers of network plugins do.
func (n *node) writePlugin(version string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	tmp := n.plugin + ".tmp"
	if err := os.WriteFile(tmp, append(data, version...), 0o755); err != nil {
		return err
	}
	return os.Rename(tmp, n.plugin)
}

// start starts the agent and waits until it serves.
func (n *node) start() {
	n.t.Helper()
	cmd := exec.Command(n.agent, "run", "--config", n.config, "--source", n.pods, "--socket", n.socket,
		"--bin-dir", n.bin, "--plugin", filepath.Base(n.plugin), "--executable", n.standIn, "--listen", "none")
	cmd.Stderr = n.log
	n.must(cmd.Start())
	n.mu.Lock()
	n.process = cmd
	n.mu.Unlock()
	n.eventually("the agent serves", func() bool {
		conn, err := sock.Dial(n.socket, time.Now().Add(300*time.Millisecond))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// kill ends the agent without warning.
func (n *node) kill() {
	n.mu.Lock()
	cmd := n.process
	n.process = nil
	n.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func (n *node) eventually(what string, ok func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("never happened: %s\nagent:\n%s", what, n.log)
		}
	}
}

// status is what the status command prints.
func (n *node) status() string {
	out, _ := exec.Command(n.agent, "status", "--socket", n.socket, "-o", "json").CombinedOutput()
	return string(out)
}

// call runs the plugin's file as the container runtime does.
func (n *node) call(command, pod string, attempt int) (stdout string, err error) {
	cmd := exec.Command(n.plugin)
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command, fmt.Sprintf("CNI_CONTAINERID=%s-%d", pod, attempt), "CNI_IFNAME=eth0",
		fmt.Sprintf("CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=%s;K8S_POD_UID=uid-%s", pod, pod),
		pluginLog+"="+filepath.Join(n.dir, "calls"), pluginTime+"="+n.pluginTime.String())
	cmd.Stdin = strings.NewReader(`{"cniVersion":"0.3.0","name":"azure","type":"azure-vnet"}`)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s%s", err, out.String(), stderr.String())
	}
	return out.String(), nil
}

// startPod is the kubelet's loop for one pod: ADD, after a failure DEL and again
// later, until the pod has its sandbox and, a moment later, has started.
func (n *node) startPod(pod string) error {
	n.writePod(pod, "")
	for attempt := 1; ; attempt++ {
		if _, err := n.call("ADD", pod, attempt); err == nil {
			break
		} else if !strings.Contains(err.Error(), `"code":11`) {
			return fmt.Errorf("%s: %w", pod, err)
		}
		if _, err := n.call("DEL", pod, attempt); err != nil {
			return fmt.Errorf("%s: DEL: %w", pod, err)
		}
		time.Sleep(n.retryWait)
	}
	now := time.Now()
	n.writePod(pod, fmt.Sprintf(`,"status":{"phase":"Running","containerStatuses":[{"name":"app","containerID":"c-%s","started":true,
		"state":{"running":{"startedAt":%q}}}]}`, pod, now.UTC().Format(time.RFC3339)))
	return nil
}

func (n *node) writePod(pod, status string) {
	path := filepath.Join(n.pods, pod+".json")
	text := fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"uid":"uid-%s"},"spec":{"containers":[{"name":"app"}]}%s}`, pod, pod, status)
	if os.WriteFile(path+".tmp", []byte(text), 0o644) == nil {
		_ = os.Rename(path+".tmp", path)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
