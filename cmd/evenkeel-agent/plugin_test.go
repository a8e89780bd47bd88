package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/cni"
)

// pluginBase is the name of the tests' plugin, which is this test's executable.
const pluginBase = "test-plugin"

// What the plugin finds in its environment.
const (
	pluginLog  = "TEST_PLUGIN_LOG"  // file to note every call in
	pluginTime = "TEST_PLUGIN_TIME" // how long an ADD takes
)

// plugin notes its calls in a file: "ADD pod-1 begin stood-in", then "end". It is
// bare instead if it was not the stand-in that called it.
func plugin() int {
	how := "bare"
	if _, ok := os.LookupEnv(cni.GuardVariable); ok {
		how = "stood-in"
	}
	note := func(what string) {
		line := fmt.Sprintf("%s %s %s %s\n", os.Getenv("CNI_COMMAND"), podName(os.Getenv("CNI_ARGS")), what, how)
		f, err := os.OpenFile(os.Getenv(pluginLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = f.WriteString(line)
			f.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	note("begin")
	if os.Getenv("CNI_COMMAND") == "ADD" {
		d, _ := time.ParseDuration(os.Getenv(pluginTime))
		time.Sleep(d)
	}
	note("end")
	fmt.Println(`{"cniVersion":"0.3.0"}`)
	return 0
}

func podName(args string) string {
	for pair := range strings.SplitSeq(args, ";") {
		if name, ok := strings.CutPrefix(pair, "K8S_POD_NAME="); ok {
			return name
		}
	}
	return ""
}

// programs gives the agent and the stand-in: those in the folder that
// EVENKEEL_TEST_PROGRAMS names, where nothing can be built, or just built.
func programs(tb testing.TB) (agent, standIn string) {
	tb.Helper()
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	dir := os.Getenv("EVENKEEL_TEST_PROGRAMS")
	if dir == "" {
		dir = tb.TempDir()
		out, err := exec.Command("go", "build", "-o", dir+string(filepath.Separator), ".", "../evenkeel-cni").CombinedOutput()
		if err != nil {
			tb.Fatalf("build: %v\n%s", err, out)
		}
	}
	return filepath.Join(dir, "evenkeel-agent"+suffix), filepath.Join(dir, "evenkeel-cni"+suffix)
}
