package harness

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a running control plane on 127.0.0.1.
type Cluster struct {
	// Dir holds its state; log/ has one file per component.
	Dir string
	// Kubeconfig is the administrator's.
	Kubeconfig string
	// Config is the same for client-go, without client-side limits.
	Config *rest.Config
	// Client is the administrator's client.
	Client kubernetes.Interface
	// Port is the API server's.
	Port int

	hold io.Closer // the components live until this is closed
	done <-chan error
}

// Options change how a control plane is started. The zero value will do.
type Options struct {
	// Extra flags of the components.
	APIServer, ControllerManager, Scheduler []string
	// SchedulerConfig is the path of a KubeSchedulerConfiguration.
	SchedulerConfig string
	// NodeLease is the lease of fake nodes; 0 means 40 s. kwok renews it
	// every quarter. Use 200 s for a thousand nodes and more.
	NodeLease time.Duration
	// NoFakeNodes leaves kwok out.
	NoFakeNodes bool
}

func (o Options) environment() []string {
	env := []string{
		"CP_APISERVER_ARGS=" + strings.Join(o.APIServer, " "),
		"CP_KCM_ARGS=" + strings.Join(o.ControllerManager, " "),
		"CP_SCHED_ARGS=" + strings.Join(o.Scheduler, " "),
	}
	if o.SchedulerConfig != "" {
		env = append(env, "CP_SCHED_CONFIG="+o.SchedulerConfig)
	}
	if o.NodeLease != 0 {
		env = append(env, fmt.Sprintf("CP_LEASE=%d", int(o.NodeLease.Seconds())))
	}
	if o.NoFakeNodes {
		env = append(env, "CP_KWOK=0")
	}
	return env
}

// shared is what the tests of this binary have in common.
var shared struct {
	sync.Mutex
	main     bool // Main runs the tests, and will clean up
	cluster  *Cluster
	dir      string            // of built programs
	programs map[string]string // by what they were built from
	janitor  io.Closer         // removes dir
	cleaned  <-chan error
}

// ControlPlane returns the control plane that the tests of one binary share,
// starting it for the first (about 6 s). Tests keep out of each other's way
// with Namespace and with nodes of their own. The package needs
//
//	func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
func ControlPlane(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		shared.cluster = launch(t, Options{})
	}
	shared.cluster.showLogs(t)
	return shared.cluster
}

// Main runs the tests and then stops what they shared. It returns the exit
// code.
func Main(m *testing.M) int {
	shared.main = true
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.stop()
	}
	if shared.janitor != nil {
		shared.janitor.Close()
		<-shared.cleaned
	}
	return code
}

// Start starts a control plane for one test, and ends it with the test.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	cluster := launch(t, options)
	t.Cleanup(cluster.stop)
	cluster.showLogs(t)
	return cluster
}

func launch(t testing.TB, options Options) *Cluster {
	t.Helper()
	binaries := Component(t, "controlplane")
	dir, err := os.MkdirTemp("", "evenkeel-controlplane-")
	if err != nil {
		t.Fatal(err)
	}
	cluster := &Cluster{Dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig"), Port: freePorts(t)}
	command := exec.Command(filepath.Join(Root(t), "test/controlplane/up.sh"), "run")
	command.Env = append(os.Environ(), options.environment()...)
	command.Env = append(command.Env, "CP_BIN="+binaries, "CP_DIR="+dir, "CP_PORT="+strconv.Itoa(cluster.Port))
	cluster.hold, cluster.done = hold(t, "control plane", command)
	cluster.Config, err = clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Config.QPS = -1
	cluster.Client, err = kubernetes.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func (c *Cluster) stop() {
	c.hold.Close()
	<-c.done
}

// hold starts a script that prints "ready" when what it starts is up, and
// that lives until its standard input ends: closing the first result, or the
// end of this process however it comes. The second tells that it has ended.
func hold(t testing.TB, what string, command *exec.Cmd) (io.Closer, <-chan error) {
	t.Helper()
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	command.Stderr = &complaints
	if err := command.Start(); err != nil {
		t.Fatalf("starting the %s: %v", what, err)
	}
	ready := false
	lines := bufio.NewScanner(output)
	for !ready && lines.Scan() {
		ready = lines.Text() == "ready"
	}
	done := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, output)
		done <- command.Wait()
	}()
	if !ready {
		t.Fatalf("starting the %s: %v\n%s", what, <-done, complaints.String())
	}
	return input, done
}

// freePorts returns the first of ten consecutive ports that nobody listens
// on. They lie below the range from which systems pick ports for clients.
func freePorts(t testing.TB) int {
	t.Helper()
	const low, count, width = 17000, 1500, 10
	start := os.Getpid() % count
	for i := range count {
		port := low + (start+i)%count*width
		if allFree(port, width) {
			return port
		}
	}
	t.Fatal("no ten consecutive free ports")
	return 0
}

func allFree(port, width int) bool {
	for p := port; p < port+width; p++ {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p)))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}
