package scale_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"evenkeel.dev/evenkeel/internal/kube/stub"
	"evenkeel.dev/evenkeel/internal/strategy"
	"evenkeel.dev/evenkeel/internal/testkit"
	"evenkeel.dev/evenkeel/internal/testkit/gen"
	"evenkeel.dev/evenkeel/test/harness"
	"evenkeel.dev/evenkeel/test/scale"
)

// The limit that the descheduler's users ask for at this size, where it takes 2 to 3 GB.
const limitMiB = 500

// policy enables strategies, with node fit.
func policy(names ...string) string {
	args, enabled := testkit.Strategies(), map[string][]string{}
	text := "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: even\n  pluginConfig:\n  - {name: DefaultEvictor, args: {nodeFit: true}}\n"
	for _, p := range strategy.Plugins() {
		if slices.Contains(names, p.Name) {
			text += fmt.Sprintf("  - {name: %s, args: %s}\n", p.Name, args[p.Name])
			point := strings.ToLower(string(p.Point))
			enabled[point] = append(enabled[point], p.Name)
		}
	}
	text += "  plugins:\n"
	for _, point := range slices.Sorted(maps.Keys(enabled)) {
		text += fmt.Sprintf("    %s: {enabled: [%s]}\n", point, strings.Join(enabled[point], ", "))
	}
	return text
}

// start runs the program with a policy against a stub that serves 5,000 nodes and 150,000 pods.
func start(t *testing.T, policy string, args ...string) (*exec.Cmd, io.Reader, *stub.Server, stub.Objects) {
	t.Helper()
	objects := scale.Cluster(gen.Config{Nodes: 5000, Pods: 150_000, Seed: 1, Budgets: 20})
	server := stub.New(objects)
	url := server.Start(t)
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	write(t, kubeconfig, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}]}`, url))
	write(t, filepath.Join(dir, "policy.yaml"), policy)

	command := exec.Command(harness.Command(t, "evenkeel"), append([]string{
		"deschedule", "--dry-run", "--policy-config-file=" + filepath.Join(dir, "policy.yaml"),
		"--client-connection-kubeconfig=" + kubeconfig, "--secure-port=0", "-o=json",
	}, args...)...)
	command.Env = append(os.Environ(), "GOMAXPROCS=2")
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command, log, server, objects["pods"]
}

// TestSingleCycleStaysSmall lists everything once, as a CronJob that evens replicas does.
func TestSingleCycleStaysSmall(t *testing.T) {
	started := time.Now()
	command, log, _, _ := start(t, policy("RemoveDuplicates"))
	if _, err := io.Copy(io.Discard, log); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("the system does not tell the peak of a process")
	}
	peak := int(usage.Maxrss / 1024)
	t.Logf("after %s: peak %d MiB, %.1f CPU seconds", time.Since(started).Round(time.Second), peak,
		(command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds())
	if peak > limitMiB {
		t.Errorf("peak %d MiB, at most %d", peak, limitMiB)
	}
}

// TestLiveProcessStaysSmall runs every strategy, and watches 5,000 nodes and 150,000 pods, of which 100 change every second, through several cycles.
func TestLiveProcessStaysSmall(t *testing.T) {
	command, log, server, pods := start(t, policy(slices.Collect(maps.Keys(testkit.Strategies()))...), "--descheduling-interval=15s")
	go change(t, server, pods)

	cycles, started := 0, time.Now()
	for lines := bufio.NewScanner(log); cycles < 5 && lines.Scan(); {
		if !strings.Contains(lines.Text(), "cycle done") {
			t.Log(lines.Text())
			continue
		}
		cycles++
		time.Sleep(3 * time.Second) // the memory of a cycle is given back after it; this is about the time between cycles
		rss, peak := memory(t, command.Process.Pid)
		t.Logf("cycle %d after %s: %d MiB resident, peak %d MiB, %.1f CPU seconds", cycles, time.Since(started).Round(time.Second), rss, peak, cpu(t, command.Process.Pid))
		if cycles > 1 && rss > limitMiB {
			t.Errorf("%d MiB resident, at most %d", rss, limitMiB)
		}
	}
	if cycles < 5 {
		t.Fatalf("the program ended after %d cycles", cycles)
	}
}

// change sends 100 changed pods every second.
func change(t *testing.T, server *stub.Server, pods stub.Objects) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-t.Context().Done():
			return
		case <-tick.C:
			pod := pods.At(i % pods.Len()).(*corev1.Pod)
			pod.ResourceVersion = fmt.Sprint(1_000_000 + i)
			server.Tell("pods", watch.Modified, pod)
		}
	}
}

// memory is the resident memory of a process and its peak, in MiB.
func memory(t *testing.T, pid int) (rss, peak int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.Atoi(f[1])
		switch f[0] {
		case "VmRSS:":
			rss = n / 1024
		case "VmHWM:":
			peak = n / 1024
		}
	}
	return rss, peak
}

// cpu is the CPU time of a process so far, in seconds; see proc_pid_stat(5).
func cpu(t *testing.T, pid int) float64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	const ticks = 100 // a second
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) / ticks
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
