// Command bridge lies where the tests' node has its bridge plugin. The real one,
// which it runs, does the work; it adds a witness of its own to what the API
// server says: a file with the beginning and the end of every call.
//
// Its folder is "witness" beside the plugin folder:
//
//	bridge   the real plugin
//	calls    one line of JSON for each Call, appended
//	hold     how long an ADD takes, before the real plugin's time; may be missing
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Call is the beginning or the end of a call of the plugin.
type Call struct {
	At      time.Time
	Event   string // begin, end
	Command string
	Pod     string // its UID
	Paced   bool   // called by the stand-in
	Exit    int    // at the end
}

func main() {
	exit, err := run(filepath.Join(filepath.Dir(os.Getenv("CNI_PATH")), "witness"))
	if err != nil {
		fmt.Printf("{\"code\":100,\"msg\":%q}\n", err.Error())
		exit = 1
	}
	os.Exit(exit)
}

func run(dir string) (int, error) {
	call := Call{Event: "begin", Command: os.Getenv("CNI_COMMAND"), Pod: uid(os.Getenv("CNI_ARGS"))}
	_, call.Paced = os.LookupEnv("EVENKEEL_CNI_DEPTH")
	if err := note(dir, call); err != nil {
		return 0, err
	}
	if call.Command == "ADD" {
		if err := hold(dir); err != nil {
			return 0, err
		}
	}
	plugin := exec.Command(filepath.Join(dir, "bridge"))
	plugin.Stdin, plugin.Stdout, plugin.Stderr = os.Stdin, os.Stdout, os.Stderr
	var failed *exec.ExitError
	if err := plugin.Run(); err != nil && !errors.As(err, &failed) {
		return 0, err
	}
	call.Event, call.Exit = "end", plugin.ProcessState.ExitCode()
	return call.Exit, note(dir, call)
}

func hold(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "hold"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(string(text))
	time.Sleep(d)
	return err
}

func uid(args string) string {
	for pair := range strings.SplitSeq(args, ";") {
		if uid, ok := strings.CutPrefix(pair, "K8S_POD_UID="); ok {
			return uid
		}
	}
	return ""
}

func note(dir string, call Call) error {
	call.At = time.Now()
	line, err := json.Marshal(call)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
