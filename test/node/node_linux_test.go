package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func TestPodIsReadyWhenItsWorkIsDone(t *testing.T) {
	cluster := harness.ControlPlane(t)
	node := cluster.Node(t, "work")
	namespace := cluster.Namespace(t)
	started := time.Now()
	node.RunPods(t, namespace, "slow", 1, harness.Work{CPU: 300 * time.Millisecond, Delay: 2 * time.Second}, nil)
	node.RunPods(t, namespace, "failing", 1, harness.Work{Fail: true}, func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever })
	pod := cluster.AwaitReady(t, namespace, "app=slow", 1)[0]
	if took := time.Since(started); took < 2*time.Second {
		t.Errorf("a pod with 2 s of work was Ready after %v", took)
	}
	if !strings.HasPrefix(pod.Status.PodIP, "10.244.0.") {
		t.Errorf("pod IP %q is not from the CNI plugin's range", pod.Status.PodIP)
	}
	harness.Await(t, time.Minute, "the failing pod has failed", func(context.Context) error {
		if phase := cluster.Pods(t, namespace, "app=failing")[0].Status.Phase; phase != corev1.PodFailed {
			return fmt.Errorf("phase %s", phase)
		}
		return nil
	})
}

func TestPodsOutliveACrashOfKubeletAndContainerd(t *testing.T) {
	cluster := harness.ControlPlane(t)
	node := cluster.Node(t, "crash")
	namespace := cluster.Namespace(t)
	node.RunPods(t, namespace, "web", 2, harness.Work{}, nil)
	before := containers(cluster.AwaitReady(t, namespace, "", 2))

	node.Kubelet.Kill(t)
	node.Containerd.Kill(t)
	node.StartContainerd(t)
	node.StartKubelet(t)
	// the kubelet has looked when it has started another pod
	node.RunPods(t, namespace, "new", 1, harness.Work{}, nil)
	cluster.AwaitReady(t, namespace, "app=new", 1)
	if after := containers(cluster.AwaitReady(t, namespace, "app=web", 2)); !slices.Equal(after, before) {
		t.Errorf("containers were %v before the crash and are %v", before, after)
	}
}

// TestRebootedNodeLooksReadyUntilItsPodsStartAnew is the trap that the start
// gate must not fall into: after a boot the API server still tells the status
// from before it.
func TestRebootedNodeLooksReadyUntilItsPodsStartAnew(t *testing.T) {
	cluster := harness.ControlPlane(t)
	node := cluster.Node(t, "reboot")
	namespace := cluster.Namespace(t)
	node.RunPods(t, namespace, "web", 2, harness.Work{}, nil)
	before := containers(cluster.AwaitReady(t, namespace, "", 2))
	bootID := read(t, node, "/proc/sys/kernel/random/boot_id")

	node.PowerOff(t)
	node.Boot(t)
	if again := read(t, node, "/proc/sys/kernel/random/boot_id"); again == bootID || len(again) != len(bootID) {
		t.Errorf("boot id before %q, after %q", bootID, again)
	}
	seconds, err := strconv.ParseFloat(strings.Fields(read(t, node, "/proc/uptime"))[0], 64)
	if err != nil || seconds < 0 || seconds > 60 {
		t.Errorf("uptime after boot: %v s, %v", seconds, err)
	}
	for _, pod := range cluster.Pods(t, namespace, "") {
		if !harness.IsReady(&pod) {
			t.Errorf("pod %s is not Ready any more before the kubelet has started", pod.Name)
		}
	}

	node.StartContainerd(t)
	node.StartKubelet(t)
	harness.Await(t, 2*time.Minute, "both pods are Ready with new containers", func(context.Context) error {
		pods := cluster.Pods(t, namespace, "")
		after := containers(pods)
		if len(after) != 2 || slices.ContainsFunc(after, func(id string) bool { return slices.Contains(before, id) }) {
			return fmt.Errorf("containers %v", after)
		}
		for i := range pods {
			if !harness.IsReady(&pods[i]) {
				return errors.New("not ready yet")
			}
		}
		return nil
	})
}

// TestPluginCanBeReplacedUnderARunningNode puts a script in the plugin's
// place, without a restart of anything.
func TestPluginCanBeReplacedUnderARunningNode(t *testing.T) {
	cluster := harness.ControlPlane(t)
	node := cluster.Node(t, "plugin")
	namespace := cluster.Namespace(t)
	node.RunPods(t, namespace, "before", 1, harness.Work{}, nil)
	cluster.AwaitReady(t, namespace, "app=before", 1)

	bridge := filepath.Join(node.PluginDir, "bridge")
	calls := filepath.Join(node.Dir, "calls")
	script := fmt.Sprintf("#!/bin/sh\necho $CNI_COMMAND >>%s\nexec %s.original/bridge\n", calls, bridge)
	for _, err := range []error{
		os.Mkdir(bridge+".original", 0o755),
		os.Link(bridge, bridge+".original/bridge"),
		os.WriteFile(bridge+".new", []byte(script), 0o755),
		os.Rename(bridge+".new", bridge),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	node.RunPods(t, namespace, "after", 3, harness.Work{}, nil)
	cluster.AwaitReady(t, namespace, "app=after", 3)
	if got := counts(t, calls)["ADD"]; got != 3 {
		t.Errorf("the stand-in saw %d ADDs of 3 pods", got)
	}
	cluster.Kubectl(t, "delete", "pod", "before-0", "-n", namespace, "--wait=true")
	harness.Await(t, 30*time.Second, "the stand-in sees the DEL of a pod that was started before it came", func(context.Context) error {
		if got := counts(t, calls); got["DEL"] == 0 {
			return fmt.Errorf("calls: %v", got)
		}
		return nil
	})
}

// TestNothingOutlivesAKilledNode kills a test process that runs a node, and
// looks for what could be left: processes, control groups, state.
func TestNothingOutlivesAKilledNode(t *testing.T) {
	const marker, name = "NODE_TEST_CHILD", "killed"
	if os.Getenv(marker) != "" {
		cluster := harness.ControlPlane(t)
		node := cluster.Node(t, name)
		namespace := cluster.Namespace(t)
		node.RunPods(t, namespace, "web", 2, harness.Work{}, nil)
		cluster.AwaitReady(t, namespace, "", 2)
		fmt.Printf("state in %s\n", node.Dir)
		select {}
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), marker+"=1")
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	if _, err := fmt.Fscanf(output, "state in %s\n", &dir); err != nil {
		t.Fatalf("the child did not start its node: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	harness.Await(t, 30*time.Second, "nothing is left of the node", func(context.Context) error {
		if found, err := exec.Command("pgrep", "-fa", dir).Output(); err == nil {
			return fmt.Errorf("processes: %s", found)
		}
		if found, _ := filepath.Glob("/sys/fs/cgroup/*/evenkeel-node-" + name); len(found) > 0 {
			return fmt.Errorf("control groups: %v", found)
		}
		if _, err := os.Stat(dir); err == nil {
			return errors.New("its state")
		}
		return nil
	})
}

// containers lists the IDs of all containers that the API server knows.
func containers(pods []corev1.Pod) []string {
	var ids []string
	for _, pod := range pods {
		for _, status := range pod.Status.ContainerStatuses {
			ids = append(ids, status.ContainerID)
		}
	}
	slices.Sort(ids)
	return ids
}

func read(t *testing.T, node *harness.Node, path string) string {
	t.Helper()
	output, err := node.Command("cat", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(output))
}

// counts counts the lines of a file.
func counts(t *testing.T, path string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, line := range strings.Fields(string(data)) {
		found[line]++
	}
	return found
}
