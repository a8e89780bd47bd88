package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Node is a real node of a cluster: containerd and the kubelet in namespaces
// of their own, with the node's own network, /run, /var/lib and boot identity.
// Its folders have the same paths inside and outside. It needs root, and all
// of it is gone when the test ends, however that ends.
//
// Inside the node the API server is at the address that the cluster's
// kubeconfig names. Pods reach it from the node's own network (hostNetwork)
// only; services and cluster DNS do not exist.
type Node struct {
	// Name is also its hostname.
	Name string
	// Dir is its state folder; log/ has one file per program.
	Dir string
	// PluginDir holds the CNI executables, bridge among them; ConfigDir the
	// runtime's CNI configuration, whose plugin is bridge.
	PluginDir, ConfigDir string
	// Containerd and Kubelet are nil while the node is off or they have not
	// been started since.
	Containerd, Kubelet *Process

	cluster *Cluster
	bin     string // the node component
	pid     int    // of the node's PID 1, outside
	power   io.Closer
	off     <-chan error
	api     io.Closer // listens inside the node for the API server
}

// Node boots a node, starts containerd and the kubelet and returns when it is
// Ready (10 to 20 s). The name must be free in the cluster and on the machine.
func (c *Cluster) Node(t testing.TB, name string) *Node {
	t.Helper()
	n := c.BareNode(t, name)
	n.StartContainerd(t)
	n.StartKubelet(t)
	c.AwaitNode(t, name, corev1.ConditionTrue)
	return n
}

// BareNode boots a node on which nothing runs yet.
func (c *Cluster) BareNode(t testing.TB, name string) *Node {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("a test node needs root: it makes namespaces, mounts and control groups of its own")
	}
	dir, err := os.MkdirTemp("", "evenkeel-node-")
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{
		Name: name, Dir: dir, PluginDir: filepath.Join(dir, "cni/bin"), ConfigDir: filepath.Join(dir, "cni/conf"),
		cluster: c, bin: Component(t, "node"),
	}
	recipe := filepath.Join(Root(t), "test/node")
	for _, step := range []error{
		os.Mkdir(filepath.Join(dir, "log"), 0o755),
		os.CopyFS(n.PluginDir, os.DirFS(filepath.Join(n.bin, "cni"))),
		os.CopyFS(n.ConfigDir, os.DirFS(filepath.Join(recipe, "net.d"))),
		n.fill(recipe, "containerd.toml"),
		n.fill(recipe, "kubelet.yaml"),
		c.writeNodeKubeconfig(name, filepath.Join(dir, "kubelet.kubeconfig")),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	n.Boot(t)
	t.Cleanup(func() {
		n.PowerOff(t)
		if err := os.RemoveAll(n.Dir); err != nil {
			t.Error(err)
		}
		c.DeleteNode(t, name)
	})
	return n
}

// fill copies a configuration file into the state folder with its places
// filled in.
func (n *Node) fill(recipe, name string) error {
	data, err := os.ReadFile(filepath.Join(recipe, name))
	if err != nil {
		return err
	}
	places := strings.NewReplacer("@BIN@", filepath.Join(n.bin, "bin"), "@STATE@", n.Dir, "@CGROUP@", "/evenkeel-node-"+n.Name)
	return os.WriteFile(filepath.Join(n.Dir, name), []byte(places.Replace(string(data))), 0o644)
}

// Boot starts a node that is off. No program runs on it yet. What was in
// /var/lib and /var/log is there again, /run is empty, the uptime is a second
// and the boot id new; the API server still has the status from before.
func (n *Node) Boot(t testing.TB) {
	t.Helper()
	command := exec.Command(filepath.Join(Root(t), "test/node/up.sh"), n.Dir, n.Name, filepath.Join(n.bin, "bin"))
	n.power, n.off = hold(t, "node "+n.Name, command)
	enclosing, err := onlyChild(command.Process.Pid, nil) // unshare
	if err == nil {
		n.pid, err = onlyChild(enclosing, nil)
	}
	if err != nil {
		t.Fatalf("finding PID 1 of node %s: %v", n.Name, err)
	}
	address := "127.0.0.1:" + strconv.Itoa(n.cluster.Port)
	n.api, err = forward(n.pid, address, address)
	if err != nil {
		t.Fatalf("making the API server reachable in node %s: %v", n.Name, err)
	}
}

// PowerOff ends every process of the node at once, as pulling the plug does.
// The API server is told nothing. A node that is off already stays so.
func (n *Node) PowerOff(t testing.TB) {
	t.Helper()
	if n.power == nil {
		return
	}
	keep := filepath.Join(n.Dir, "keep") // only this end leaves the state there: a killed test must not
	if err := os.WriteFile(keep, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	n.api.Close()
	n.power.Close()
	<-n.off
	if err := os.Remove(keep); err != nil {
		t.Fatal(err)
	}
	n.power, n.Containerd, n.Kubelet = nil, nil, nil
}

// StartContainerd starts containerd and waits until it answers and has the
// images of Image and of the sandboxes.
func (n *Node) StartContainerd(t testing.TB) {
	t.Helper()
	n.Containerd = n.Start(t, "containerd", filepath.Join(n.bin, "bin/containerd"), "-c", filepath.Join(n.Dir, "containerd.toml"))
	ctr := filepath.Join(n.bin, "bin/ctr")
	Await(t, time.Minute, "containerd answers", func(context.Context) error {
		if !n.Containerd.Running() {
			return errors.New(n.Containerd.tail())
		}
		return n.Command(ctr, "version").Run()
	})
	for _, image := range []string{"pause", "app"} {
		output, err := n.Command(ctr, "-n", "k8s.io", "images", "import", filepath.Join(n.bin, "images", image+".tar")).CombinedOutput()
		if err != nil {
			t.Fatalf("importing image %s: %v\n%s", image, err, output)
		}
	}
}

// StartKubelet starts the kubelet and waits until it says that it is healthy,
// which is before the node is Ready.
func (n *Node) StartKubelet(t testing.TB) {
	t.Helper()
	n.Kubelet = n.Start(t, "kubelet", filepath.Join(Component(t, "controlplane"), "kubelet"),
		"--config="+filepath.Join(n.Dir, "kubelet.yaml"), "--kubeconfig="+filepath.Join(n.Dir, "kubelet.kubeconfig"),
		"--hostname-override="+n.Name, "--node-ip=10.89.0.1", "--root-dir=/var/lib/kubelet", "--cert-dir=/var/lib/kubelet/pki")
	Await(t, time.Minute, "the kubelet is healthy", func(context.Context) error {
		if !n.Kubelet.Running() {
			return errors.New(n.Kubelet.tail())
		}
		output, err := n.Command("curl", "-sS", "-m", "2", "http://127.0.0.1:10248/healthz").CombinedOutput()
		if err == nil && string(output) != "ok" {
			err = fmt.Errorf("it says %q", output)
		}
		return err
	})
}

// Command prepares a program that runs in the node, for short ones: Start is
// for those that stay.
func (n *Node) Command(program string, args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(n.pid), "--mount", "--net", "--pid", "--ipc", "--uts", "--time", "--", program}
	command := exec.Command("nsenter", append(enter, args...)...)
	command.Env = append(os.Environ(), "PATH="+filepath.Join(n.bin, "bin")+":"+os.Getenv("PATH"))
	return command
}
