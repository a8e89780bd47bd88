package load

import (
	"testing"
	"time"
)

func TestThisMachineCanBeMeasured(t *testing.T) {
	r := New()
	for range 2 {
		s, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		if s.Memory <= 0 || s.Memory > 100 || s.CPU < 0 || s.CPU > 100 || s.IO < 0 || s.IO > 100 {
			t.Fatalf("out of range: %+v", s)
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
	}{{1000, 900, 0}, {1100, 925, 75}, {1200, 1025, 0}, {1200, 1025, 0}, {100, 50, 0}, {200, 50, 100}} {
		if got := c.percent(step.total, step.idle); got != step.want {
			t.Errorf("after %d/%d: %v, want %v", step.total, step.idle, got, step.want)
		}
	}
}
