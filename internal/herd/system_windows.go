package herd

import (
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

const executableSuffix = ".exe"

// cpuTime is what this process has used, to 15.6 ms.
func cpuTime() time.Duration {
	var created, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user) != nil {
		return 0
	}
	ticks := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(ticks(kernel)+ticks(user)) * 100
}

// detach keeps a terminal's Ctrl-C from a child: we end our children ourselves.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// socketPath is the pipe on which an agent that keeps its files in dir listens.
func socketPath(dir string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(dir))
	return fmt.Sprintf(`\\.\pipe\evenkeel-herd-%d-%x`, os.Getpid(), h.Sum64())
}
