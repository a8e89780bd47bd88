package install

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// scenario is something that can be interrupted.
type scenario struct {
	name    string
	prepare func(n node)
	run     func(i Installer) error
	plugin  []byte // the original the node must have afterwards
}

func scenarios() []scenario {
	install := func(i Installer) error { _, err := i.Install(); return err }
	installed := func(n node) { n.install(Installed) }
	return []scenario{
		{"install", func(node) {}, install, program("v1")},
		{"upgrade", func(n node) { installed(n); n.write(n.Executable, standIn("2")) }, install, program("v1")},
		{"adopt", func(n node) { installed(n); n.write(n.Target.PluginPath(), program("v2")) }, install, program("v2")},
		{"uninstall", installed, func(i Installer) error { _, err := i.Uninstall(); return err }, program("v1")},
	}
}

// faulty is a disk that goes wrong at its n-th step, counted from 1.
type faulty struct {
	at    int
	count *int
	busy  bool               // running files cannot be replaced, as on Windows
	fail  func(s Step) error // what happens instead of step at
}

func (f faulty) Do(s Step) error {
	if *f.count++; *f.count == f.at {
		return f.fail(s)
	}
	if f.busy && s.Op == Replace {
		if _, err := os.Lstat(s.To); err == nil {
			return ErrInUse
		}
	}
	return Disk{}.Do(s)
}

var errDiskFull = errors.New("no space left on device")

func TestEveryFailedStepLeavesAWorkingPlugin(t *testing.T) {
	for _, sc := range scenarios() {
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,busy=%v", sc.name, busy), func(t *testing.T) {
				for at := 1; ; at++ {
					n := newNode(t)
					sc.prepare(n)
					broken, count := n.Installer, 0
					broken.Disk = faulty{at: at, count: &count, busy: busy, fail: func(Step) error { return errDiskFull }}
					err := sc.run(broken)
					if count < at {
						return
					}
					s, _ := n.Status()
					if !s.Installed && (s.InPlace.Kind == Absent || s.InPlace.StandIn) {
						t.Fatalf("failure at step %d: the node has no working plugin: %+v (%v)", at, s, err)
					}
					if sc.name == "install" && !s.Installed {
						n.wantBare(sc.plugin)
					}
					_, err = n.Install()
					n.must(err)
					n.wantInstalled(sc.plugin)
					n.uninstall(Restored)
					n.wantBare(sc.plugin)
				}
			})
		}
	}
}

// noSpace is a disk that takes no byte more, but renames and removes.
type noSpace struct{}

func (noSpace) Do(s Step) error {
	if s.Op == Copy || s.Op == Write || s.Op == Save {
		return errDiskFull
	}
	return Disk{}.Do(s)
}

func TestAFullDiskKeepsNobodyFromUninstalling(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	full := n.Installer
	full.Disk = noSpace{}
	if result, err := full.Uninstall(); err != nil || result.Action != Restored {
		t.Fatalf("%+v, %v", result, err)
	}
	n.wantBare(program("v1"))
	if _, err := full.Install(); !errors.Is(err, errDiskFull) {
		t.Errorf("installed on a full disk: %v", err)
	}
	n.wantBare(program("v1"))
}

// dying is a full disk that goes away for good after some steps.
type dying struct {
	left *int
	busy bool
}

func (d dying) Do(s Step) error {
	if *d.left == 0 {
		return errors.New("gone")
	}
	*d.left--
	if d.busy && s.Op == Replace {
		return ErrInUse
	}
	return noSpace{}.Do(s)
}

// Without a journal nobody knows which way it went: both lead on.
func TestAnUninstallationCutShortOnAFullDiskIsFinishedOrUndone(t *testing.T) {
	for _, busy := range []bool{false, true} {
		for steps := 0; ; steps++ {
			left := steps
			for _, again := range []string{"uninstall", "install"} {
				left = steps
				n := newNode(t)
				n.install(Installed)
				cut := n.Installer
				cut.Disk = dying{left: &left, busy: busy}
				_, _ = cut.Uninstall()
				if again == "install" {
					_, err := n.Install()
					n.must(err)
					n.wantInstalled(program("v1"))
				}
				_, err := n.Uninstall()
				n.must(err)
				n.wantBare(program("v1"))
			}
			if left > 0 { // it was not cut short
				break
			}
		}
	}
}

// The child process of TestEveryCrashIsRecovered finds what to do here.
const (
	crashScenario = "INSTALL_TEST_SCENARIO"
	crashRoot     = "INSTALL_TEST_ROOT"
	crashAt       = "INSTALL_TEST_AT"
	crashBusy     = "INSTALL_TEST_BUSY"
	crashExit     = 77
)

func TestMain(m *testing.M) {
	if name := os.Getenv(crashScenario); name != "" {
		os.Exit(crashingRun(name))
	}
	if os.Getenv(sleeperEnv) != "" {
		sleeper()
	}
	os.Exit(m.Run())
}

func crashingRun(name string) int {
	at, _ := strconv.Atoi(os.Getenv(crashAt))
	root, count := os.Getenv(crashRoot), 0
	i := Installer{
		Target:     Target{BinDir: filepath.Join(root, "bin"), Plugin: pluginName(), SubDir: ".evenkeel"},
		Executable: filepath.Join(root, "image", "evenkeel-cni"),
		Disk: faulty{at: at, count: &count, busy: os.Getenv(crashBusy) == "true", fail: func(s Step) error {
			if s.Op == Copy || s.Op == Write { // half a file, as a power cut leaves it
				os.WriteFile(s.To, standIn("half")[:90], 0o755)
			}
			os.Exit(crashExit)
			return nil
		}},
	}
	for _, sc := range scenarios() {
		if sc.name == name {
			if err := sc.run(i); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
	}
	return 0
}

func TestEveryCrashIsRecovered(t *testing.T) {
	for _, sc := range scenarios() {
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,busy=%v", sc.name, busy), func(t *testing.T) {
				t.Parallel()
				for at := 1; crashOnce(t, sc, busy, at); at++ {
				}
			})
		}
	}
}

// crashOnce runs sc in a process that dies at step at; false: it has fewer steps.
func crashOnce(t *testing.T, sc scenario, busy bool, at int) bool {
	t.Helper()
	n := newNode(t)
	sc.prepare(n)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashScenario+"="+sc.name, crashRoot+"="+n.root,
		crashAt+"="+strconv.Itoa(at), crashBusy+"="+strconv.FormatBool(busy))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if cmd.ProcessState.ExitCode() != crashExit {
		t.Fatalf("step %d: %v: %s", at, err, out)
	}
	left := strings.Join(n.listing(), " ")
	recovered := n
	if at%2 == 0 { // recovered also when the stand-in to install is out of reach
		recovered.Executable = filepath.Join(n.root, "gone")
	}
	if _, err := recovered.Recover(); err != nil {
		t.Fatalf("step %d left %s: recover: %v", at, left, err)
	}
	s, err := n.Status()
	n.must(err)
	if !s.Installed && (s.InPlace.Kind == Absent || s.InPlace.StandIn) {
		t.Fatalf("step %d left %s: no working plugin after recovery: %q", at, left, s.Problems)
	}
	_, err = n.Install()
	n.must(err)
	n.wantInstalled(sc.plugin)
	n.uninstall(Restored)
	n.wantBare(sc.plugin)
	return true
}
