package load

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// pressureStall says that the kernel tells how long I/O stalls; Windows never does.
func pressureStall() bool {
	_, err := os.Stat("/proc/pressure/io")
	return runtime.GOOS == "linux" && err == nil // under Wine the file is there
}

func TestThisMachineCanBeMeasured(t *testing.T) {
	r := New()
	for n := range 2 {
		s, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 && s.CPU != Unknown {
			t.Fatalf("the share of no time at all: %+v", s)
		}
		for _, f := range []float64{s.Memory, s.CPU, s.IO} {
			if f != Unknown && (f < 0 || f > 100) {
				t.Fatalf("out of range: %+v", s)
			}
		}
		if s.Memory == Unknown || (s.IO == Unknown) == pressureStall() {
			t.Fatalf("what the system tells is not used: %+v", s)
		}
	}
	boot, err := BootTime()
	if err != nil || boot.After(time.Now()) || boot.IsZero() {
		t.Fatalf("booted at %s (%v)", boot, err)
	}
}

func TestCPUIsTheShareOfTimeNotIdle(t *testing.T) {
	var c cpu
	for _, step := range []struct {
		total, idle uint64
		want        float64
	}{{1000, 900, Unknown}, {1100, 925, 75}, {1200, 1025, 0}, {1200, 1025, Unknown}, {100, 50, Unknown}, {200, 50, 100}} {
		if got := c.percent(step.total, step.idle); got != step.want {
			t.Errorf("after %d/%d: %v, want %v", step.total, step.idle, got, step.want)
		}
	}
}
