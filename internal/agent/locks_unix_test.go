//go:build unix

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/paceapi"
)

// holdLock is a stand-in that runs its original by a lock file.
func holdLock(t *testing.T, binDir string, n int) *os.File {
	t.Helper()
	dir := filepath.Join(binDir, cni.OriginalDir, "gate")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprint("lock-", n)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAReturningAgentCountsThoseWhoWentOnWithoutIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(2))
	w.must(w.stop())
	bin := t.TempDir()
	w.must(os.WriteFile(w.config, []byte(fmt.Sprintf("install: {enabled: false, binDir: %q, plugin: bridge}\nlisten: none\n%s", bin, limit(2))), 0o644))
	silent, speaking := holdLock(t, bin, 0), holdLock(t, bin, 1)
	w.start()
	resumed := w.add("b", func(r *paceapi.Request) {
		r.Running, r.Degraded, r.RunningFor = true, true, paceapi.Millis(time.Second)
	})
	w.settled()
	c := w.add("c").waits()
	if q := w.status().Queue; q.LockHolders != 1 || len(q.Holding) != 1 || q.Holding[0].Name != "b" {
		t.Fatalf("want one silent lock holder, and b by its own word and not twice: %+v", q)
	}
	w.must(silent.Close())
	c.granted().done(0) // c holds its slot until it has started
	w.must(speaking.Close())
	resumed.done(1)
	w.add("d").granted()
	if n := w.status().Queue.LockHolders; n != 0 {
		t.Fatalf("%d lock holders when there is none", n)
	}
}
