package herd

import (
	"os/exec"
	"syscall"
	"time"
)

const executableSuffix = ""

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// detach keeps a terminal's Ctrl-C from a child: we end our children ourselves.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// socketPath is where an agent that keeps its files in dir listens.
func socketPath(dir string) string { return dir + "/run/s" }
