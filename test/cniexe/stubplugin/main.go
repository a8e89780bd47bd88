// Command stubplugin behaves like azure-vnet where it matters to whoever
// stands in for it: state, lock and log lie in the working directory, a
// telemetry process is left behind that keeps the streams open, -v and
// GET_ENDPOINT_STATE are answered on the spot, and ADD and DEL hold a lock.
//
// Environment variables make it do what plugins have been seen to do:
//
//	STUB_RECORD=FILE   append one line of JSON about each call (Record)
//	STUB_HOLD=500ms    how long ADD takes
//	STUB_LOCK=1s       take the lock, and give up after so long
//	STUB_TELEMETRY=FILE  leave a process behind until FILE is gone; it writes
//	                   its number to FILE.pid
//	STUB_ACT=…         crash, hang, twodocs, empty or error instead of ADD's
//	                   or DEL's result; alone fails beside another that runs,
//	                   as creating endpoints does
//	STUB_EXIT=7        exit code
//	STUB_CALL=FILE     run FILE with our arguments, as a plugin that delegates
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// Record is what one call looked like from inside.
type Record struct {
	Event   string // start, end
	Command string
	PID     int
	Program string // the file that runs
	Args    []string
	Dir     string
	Env     []string
	Stdin   string // SHA-256
	Length  int    // of stdin
	At      time.Time
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "telemetry" {
		telemetry(os.Args[2])
		return
	}
	os.Exit(run())
}

func run() int {
	if len(os.Args) > 1 && os.Args[1] == "-v" {
		fmt.Println("Azure CNI Version v1.2.3")
		return exitCode()
	}
	command := os.Getenv("CNI_COMMAND")
	if command == "GET_ENDPOINT_STATE" {
		record("start", command, nil)
		fmt.Println(`{"ContainerInterfaces":{}}`)
		return exitCode()
	}
	conf, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fail(err)
	}
	record("start", command, conf)
	defer record("end", command, nil)
	startTelemetry()
	if callee := os.Getenv("STUB_CALL"); callee != "" {
		return delegate(callee, conf)
	}
	if command == "ADD" || command == "DEL" {
		return change(command)
	}
	fmt.Printf("{\"command\":%q}\n", command)
	return exitCode()
}

// change is ADD or DEL.
func change(command string) int {
	switch os.Getenv("STUB_ACT") {
	case "crash":
		var nothing *Record
		nothing.PID = 1
	case "hang":
		time.Sleep(2 * time.Minute) // longer than any test, and then gone
	case "twodocs":
		fmt.Println(`{"cniVersion":"0.3.0","ips":[]}`)
		fmt.Println(`{"code":100,"msg":"failed after all"}`)
		return exitCode()
	case "empty":
		fmt.Fprintln(os.Stderr, "unexpected end of JSON input")
		return 1
	case "error":
		fmt.Println(`{"code":100,"msg":"the network does not exist yet","details":"HNS"}`)
		return 1
	case "alone":
		unlock, err := lockStore(0)
		if err != nil {
			return fail(errors.New("the object already exists (0x1392)"))
		}
		defer unlock()
	}
	if limit := os.Getenv("STUB_LOCK"); limit != "" {
		unlock, err := lockStore(duration(limit))
		if err != nil {
			return fail(err)
		}
		defer unlock()
	}
	if command == "ADD" {
		time.Sleep(duration(os.Getenv("STUB_HOLD")))
	}
	if err := os.WriteFile("azure-vnet.json", []byte(command+"\n"), 0o644); err != nil {
		return fail(err)
	}
	fmt.Println(`{"cniVersion":"0.3.0","interfaces":[{"name":"eth0"}],"ips":[{"version":"4","address":"10.1.0.4/16"}],"dns":{}}`)
	return exitCode()
}

// lockStore is azure-vnet's store lock: one process at a time, by polling.
func lockStore(patience time.Duration) (unlock func(), err error) {
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		f, err := os.OpenFile("azure-vnet.lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			return func() { _ = f.Close(); _ = os.Remove("azure-vnet.lock") }, nil
		}
		if time.Since(start) > patience {
			return nil, fmt.Errorf("timed out locking store")
		}
	}
}

func delegate(callee string, conf []byte) int {
	env := os.Environ()
	for i, v := range env {
		if len(v) > 10 && v[:10] == "STUB_CALL=" {
			env[i] = "STUB_CALL="
		}
	}
	cmd := exec.Command(callee, os.Args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, os.Stdout, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return fail(err)
	}
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	_, _ = in.Write(conf)
	_ = in.Close()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

func startTelemetry() {
	file := os.Getenv("STUB_TELEMETRY")
	if file == "" {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.Command(self, "telemetry", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	_ = cmd.Start()
}

// telemetry lives until file is gone.
func telemetry(file string) {
	_ = os.WriteFile(file+".pid", []byte(strconv.Itoa(os.Getpid())), 0o644)
	for {
		if _, err := os.Stat(file); err != nil {
			_ = os.Remove(file + ".pid")
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func record(event, command string, stdin []byte) {
	file := os.Getenv("STUB_RECORD")
	if file == "" {
		return
	}
	dir, _ := os.Getwd()
	program, _ := os.Executable()
	sum := sha256.Sum256(stdin)
	line, err := json.Marshal(Record{
		Event: event, Command: command, PID: os.Getpid(), Program: program, Args: os.Args, Dir: dir, Env: os.Environ(),
		Stdin: hex.EncodeToString(sum[:]), Length: len(stdin), At: time.Now(),
	})
	if err != nil {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
}

func fail(err error) int {
	fmt.Printf("{\"code\":100,\"msg\":%q}\n", err.Error())
	return 1
}

func exitCode() int {
	n, _ := strconv.Atoi(os.Getenv("STUB_EXIT"))
	return n
}

func duration(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return d
}
