package herd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/cni"
)

// pluginName is the plugin's file in the plugin folder.
const pluginName = "herd-plugin" + executableSuffix

// node is a plugin folder, a folder of pod files, and the processes of one run.
type node struct {
	program string
	dir     string // for everything
	pod     job    // that every container does
	plugin  job    // that every ADD is

	processes sync.WaitGroup
}

func newNode(e experiment, name string) (*node, error) {
	n := &node{
		program: e.Program,
		dir:     filepath.Join(e.Dir, name),
		pod:     job{Role: podRole, Work: roundsFor(e.Work, e.perSecond)},
		plugin:  job{Role: pluginRole, Work: roundsFor(e.PluginTime/2, e.perSecond), Wait: e.PluginTime / 2},
	}
	for _, dir := range []string{n.dir, n.binDir(), n.podDir()} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := copyProgram(e.Program, n.pluginPath(), nil); err != nil {
		return nil, fmt.Errorf("put the plugin into its folder: %w", err)
	}
	return n, nil
}

func (n *node) binDir() string     { return filepath.Join(n.dir, "bin") }
func (n *node) podDir() string     { return filepath.Join(n.dir, "pods") }
func (n *node) pluginPath() string { return filepath.Join(n.binDir(), pluginName) }

// bind writes the files of new pods, which nobody has begun to start.
func (n *node) bind(count int) ([]onNode, error) {
	pods := make([]onNode, count)
	for i := range pods {
		name := fmt.Sprintf("herd-%0*d", len(strconv.Itoa(count)), i+1)
		pods[i] = onNode{n, identity{name: name, uid: "uid-" + name}}
		if err := pods[i].show(podState{phase: Waiting}); err != nil {
			return nil, err
		}
	}
	return pods, nil
}

// onNode is the machine of one pod.
type onNode struct {
	*node
	identity
}

// network is the network configuration that the plugin is given.
const network = `{"cniVersion":"` + cniVersion + `","name":"herd","type":"herd-plugin"}`

func (p onNode) cni(ctx context.Context, command string, sandbox int) *exec.Cmd {
	cmd := p.plugin.command(ctx, p.pluginPath())
	cmd.Dir = p.dir
	cmd.Env = append(cmd.Env,
		"CNI_COMMAND="+command, "CNI_IFNAME=eth0", "CNI_PATH="+p.binDir(),
		fmt.Sprintf("CNI_CONTAINERID=%s-%d", p.uid, sandbox), fmt.Sprintf("CNI_NETNS=herd-%s-%d", p.uid, sandbox),
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE="+namespace+";K8S_POD_NAME="+p.name+";K8S_POD_UID="+p.uid,
		cni.GuardVariable+"=", // should we ourselves run below a stand-in
	)
	cmd.Stdin = strings.NewReader(network)
	return cmd
}

// add implements machine.
func (p onNode) add(ctx context.Context, sandbox int) (time.Time, bool, error) {
	cmd := p.cni(ctx, "ADD", sandbox)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	var result addResult
	jsonErr := json.Unmarshal(stdout, &result)
	var exit *exec.ExitError
	switch {
	case err == nil && jsonErr == nil && result.PluginStart != 0:
		return time.Unix(0, result.PluginStart), true, nil
	case errors.As(err, &exit) && jsonErr == nil && result.Code != 0:
		return time.Time{}, false, nil
	}
	return time.Time{}, false, fmt.Errorf("ADD of pod %s: %w: %s", p.name, errors.Join(err, jsonErr), last(stdout, stderr.Bytes()))
}

// del implements machine.
func (p onNode) del(ctx context.Context, sandbox int) error {
	if out, err := p.cni(ctx, "DEL", sandbox).CombinedOutput(); err != nil {
		return fmt.Errorf("DEL of pod %s: %w: %s", p.name, err, last(out))
	}
	return nil
}

// container implements machine.
func (p onNode) container(ctx context.Context) (<-chan error, error) {
	cmd := p.node.pod.command(ctx, p.program)
	cmd.Dir = p.dir
	// It stays open until the process ends, or we do.
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start pod %s: %w", p.name, err)
	}
	outcome := make(chan error, 1)
	p.processes.Go(func() {
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if line == readyLine {
			outcome <- nil
			_ = cmd.Wait()
			return
		}
		outcome <- fmt.Errorf("pod %s ended before it was ready: %w", p.name, errors.Join(err, cmd.Wait()))
	})
	return outcome, nil
}

// show implements machine.
func (p onNode) show(s podState) error { return p.write(p.podDir(), s) }

// last is the end of what a program printed, on one line.
func last(outputs ...[]byte) string {
	const enough = 500
	text := strings.Join(strings.Fields(string(bytes.Join(outputs, []byte(" ")))), " ")
	return text[max(0, len(text)-enough):]
}

// beat is one heartbeat.
func beat(ctx context.Context, program string, work rounds) error {
	err := job{Role: beatRole, Work: work}.command(ctx, program).Run()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return nil
}

// tail gives the last lines of a log for an error message.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return last(text)
}
