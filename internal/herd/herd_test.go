package herd

import (
	"os"
	"testing"
	"time"
)

func options(t testing.TB) Options {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Pods: 6, Work: 100 * time.Millisecond, PluginTime: 20 * time.Millisecond, Limit: "2", Retry: time.Second,
		Heartbeat: 200 * time.Millisecond, Timeout: time.Minute, Dir: t.TempDir(), Program: program,
		Progress: func(p Progress) {
			if p.Doing != "" {
				t.Logf("%s %s", p.Run, p.Doing)
			}
		},
	}
}

func TestSmoke(t *testing.T) {
	r, err := Start(t.Context(), options(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
}
