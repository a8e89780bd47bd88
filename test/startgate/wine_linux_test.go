package startgate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

// windows is a plugin folder as on an AKS node, with a stub azure-vnet.exe, and
// the programs that are run in it: real Windows executables under Wine.
type windows struct {
	t        *testing.T
	run      string // runs a Windows executable
	dir      string
	programs string
	env      []string // of the plugin
}

func newWindows(t *testing.T) windows {
	wine := harness.Component(t, "wine")
	if err := exec.Command(filepath.Join(wine, "startwin")).Run(); err != nil {
		t.Fatalf("starting Wine: %v", err)
	}
	w := windows{t: t, run: filepath.Join(wine, "runwin"), dir: t.TempDir(), programs: t.TempDir()}
	build := exec.Command("go", "build", "-o", w.programs+"/", "./cmd/evenkeel-agent", "./cmd/evenkeel-cni", "./test/cniexe/stubplugin")
	build.Dir, build.Env = harness.Root(t), append(os.Environ(), "GOOS=windows", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	for _, err := range []error{os.MkdirAll(w.bin(), 0o755), w.plugin("")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w windows) bin() string { return filepath.Join(w.dir, "azurecni", "bin") }

// plugin writes the stub over azure-vnet.exe, as its installer does.
func (w windows) plugin(version string) error {
	data, err := os.ReadFile(filepath.Join(w.programs, "stubplugin.exe"))
	if err != nil {
		return err
	}
	path := filepath.Join(w.bin(), "azure-vnet.exe")
	if err := os.WriteFile(path+".new", append(data, version...), 0o755); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func windowsPath(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }

// command prepares a Windows executable in the working directory that
// azure-vnet's state depends on.
func (w windows) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(w.run, append([]string{windowsPath(program)}, args...)...)
	cmd.Dir = w.dir
	return cmd
}

// call calls azure-vnet.exe as containerd and azure-cns do, and gives both of
// its streams.
func (w windows) call(command, namespace, pod, uid string) (string, error) {
	cmd := w.command(filepath.Join(w.bin(), "azure-vnet.exe"))
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command, "CNI_CONTAINERID=c-"+pod, "CNI_IFNAME=eth0",
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE="+namespace+";K8S_POD_NAME="+pod+";K8S_POD_UID="+uid)
	cmd.Env = append(cmd.Env, w.env...)
	cmd.Stdin = strings.NewReader(`{"cniVersion":"0.3.0","name":"azure","type":"azure-vnet"}`)
	return w.output(cmd)
}

// output runs cmd and gives both of its streams, by a file: processes of Wine's
// own outlive it and hold a pipe open.
func (w windows) output(cmd *exec.Cmd) (string, error) {
	f, err := os.CreateTemp(w.dir, "output")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	err = cmd.Run()
	out, readErr := os.ReadFile(f.Name())
	return string(out), errors.Join(err, readErr)
}

func TestWindowsExecutablesPaceByARealAPIServer(t *testing.T) {
	c := harness.ControlPlane(t)
	c.Kubectl(t, "apply", "-n", "kube-system", "-f", "deploy/kustomize/agent-windows/rbac.yaml")
	node := c.FakeNode(t, "win", func(n *corev1.Node) { n.Labels[corev1.LabelOSStable] = "windows" }).Name
	w := newWindows(t)
	config := filepath.Join(w.dir, "agent.yaml")
	text := fmt.Sprintf("log: {file: '%s'}\n", windowsPath(filepath.Join(w.dir, "agent.log"))) +
		"pace: {limits: {maxConcurrent: 1}}\npods: {startedWhen: Ready}\ninstall: {defenderExclusions: false}\nlisten: none\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	pipe := fmt.Sprintf(`\\.\pipe\evenkeel-e2e-%d`, os.Getpid())
	agent := filepath.Join(w.programs, "evenkeel-agent.exe")
	running := w.command(agent, "run", "--config", windowsPath(config), "--node-name", node, "--socket", pipe,
		"--kubeconfig", windowsPath(c.KubeconfigFor(t, "kube-system", "evenkeel-agent-windows")),
		"--bin-dir", windowsPath(w.bin()), "--plugin", "azure-vnet.exe", "--executable", windowsPath(filepath.Join(w.programs, "evenkeel-cni.exe")))
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = running.Process.Kill()
		_ = running.Wait()
		if t.Failed() {
			log, err := os.ReadFile(filepath.Join(w.dir, "agent.log"))
			t.Logf("agent: %v\n%s", err, log)
		}
	})
	says := func(text string) func(context.Context) error {
		return func(context.Context) error {
			out, err := w.output(w.command(agent, "status", "--socket", pipe, "-o", "json"))
			if err == nil && !strings.Contains(out, text) {
				err = fmt.Errorf("%s", out)
			}
			return err
		}
	}
	harness.Await(t, 2*time.Minute, "the agent is ready", says(`"ready": true`))

	namespace := c.Namespace(t)
	uids := map[string]string{}
	for _, name := range []string{"first", "second"} {
		uids[name] = heldPod(t, c, namespace, name, node)
	}
	telemetry := w.leaveTelemetry()
	w.env = append(w.env, "STUB_LOCK=20s")
	if out, err := w.call("ADD", namespace, "first", uids["first"]); err != nil || !strings.Contains(out, "10.1.0.4/16") {
		t.Fatalf("the first ADD: %v: %s", err, out)
	}
	harness.Await(t, time.Minute, "the plugin has left its telemetry process behind", telemetry.runs)
	second := make(chan string, 1)
	go func() {
		out, err := w.call("ADD", namespace, "second", uids["second"])
		second <- fmt.Sprint(out, err)
	}()
	harness.Await(t, time.Minute, "the second ADD waits", says(`"name": "second"`))
	for command, want := range map[string]string{"GET_ENDPOINT_STATE": `{"ContainerInterfaces":{}}`, "DEL": "10.1.0.4/16"} {
		began := time.Now()
		out, err := w.call(command, namespace, "gone", "uid-gone")
		if err != nil || !strings.Contains(out, want) || command != "DEL" && strings.TrimSpace(out) != want {
			t.Fatalf("the caller of %s reads both streams and got %v: %q", command, err, out)
		}
		t.Logf("%s took %s while a pod waited", command, time.Since(began).Round(time.Millisecond))
	}
	select {
	case out := <-second:
		t.Fatalf("the second ADD did not wait: %s", out)
	case <-time.After(3 * time.Second):
	}
	c.Release(t, namespace, "first") // and it becomes ready
	select {
	case out := <-second:
		if !strings.Contains(out, "10.1.0.4/16") {
			t.Fatalf("the second ADD: %s", out)
		}
	case <-time.After(time.Minute):
		t.Fatal("the second ADD was never let through")
	}
	if _, err := os.Stat(filepath.Join(w.dir, "azure-vnet.json")); err != nil {
		t.Fatalf("the plugin's state is not in the caller's working directory: %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "azure-vnet.lock")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the plugin's lock is left (%v)", err)
	}

	harness.Await(t, time.Minute, "the plugin is overwritten", func(context.Context) error { return w.plugin("v2") })
	harness.Await(t, time.Minute, "the new plugin is adopted", func(context.Context) error {
		data, err := os.ReadFile(filepath.Join(w.bin(), "evenkeel", "azure-vnet.exe"))
		if err == nil && !bytes.HasSuffix(data, []byte("v2")) {
			err = fmt.Errorf("the original is the old one")
		}
		return err
	})
	telemetry.end(t)
}

// telemetry is a process that the plugin leaves behind, holding its streams and
// its executable open, until the file is gone. It writes and removes FILE.pid.
type telemetry string

func (w *windows) leaveTelemetry() telemetry {
	file := filepath.Join(w.dir, "telemetry")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.env = append(w.env, "STUB_TELEMETRY="+windowsPath(file))
	w.t.Cleanup(func() { _ = os.Remove(file) })
	return telemetry(file)
}

func (file telemetry) runs(context.Context) error {
	_, err := os.Stat(string(file) + ".pid")
	return err
}

// end wants the process to be there still: only that removes its file.
func (file telemetry) end(t *testing.T) {
	t.Helper()
	if err := os.Remove(string(file)); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, time.Minute, "the telemetry process, which outlives the calls and the file of its plugin, has ended", func(ctx context.Context) error {
		if file.runs(ctx) == nil {
			return errors.New("its file is there")
		}
		return nil
	})
}

// heldPod makes a pod on the node that is not ready until it is released, and
// gives its UID.
func heldPod(t *testing.T, c *harness.Cluster, namespace, name, node string) string {
	t.Helper()
	pod, err := c.Client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{harness.ReadyAnnotation: harness.Hold}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "app", Image: "app", ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(pod.UID)
}
