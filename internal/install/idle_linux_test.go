package install

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// bytesRead is how much this process has read until now, from whatever.
func bytesRead(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(regexp.MustCompile(`rchar: (\d+)`).FindSubmatch(text)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNothingIsReadWhileNothingChanges looks once a second at a large plugin in
// every state in which nothing can be done.
func TestNothingIsReadWhileNothingChanges(t *testing.T) {
	const size = 4 << 20
	large := append(program("large"), bytes.Repeat([]byte("."), size)...)
	for name, c := range map[string]struct {
		prepare func(n node, a *Adopter)
		want    func(o Outcome, err error) bool
	}{
		"in place": {
			func(n node, _ *Adopter) { n.install(Installed) },
			func(o Outcome, err error) bool { return err == nil && o.Waiting == "" },
		},
		"uninstalled": {
			func(n node, a *Adopter) {
				n.install(Installed)
				look(n.t.(*testing.T), a, -time.Second)
				n.uninstall(Restored)
			},
			func(o Outcome, _ error) bool { return o.Uninstalled },
		},
		"a broken plugin over the stand-in": {
			func(n node, _ *Adopter) {
				n.install(Installed)
				n.write(n.Target.PluginPath(), bytes.Repeat([]byte("."), size))
			},
			func(o Outcome, _ error) bool { return o.Stuck },
		},
		"a broken plugin from the start": {
			func(n node, _ *Adopter) { n.write(n.Target.PluginPath(), bytes.Repeat([]byte("."), size)) },
			func(o Outcome, _ error) bool { return o.Stuck },
		},
		"held by a writer": {
			func(n node, _ *Adopter) {
				w, err := os.OpenFile(n.Target.PluginPath(), os.O_WRONLY, 0)
				n.must(err)
				n.t.(*testing.T).Cleanup(func() { w.Close() })
			},
			func(o Outcome, _ error) bool { return o.Waiting != "" },
		},
		"a stand-in without its original": {
			func(n node, a *Adopter) { n.install(Installed); n.must(os.Remove(n.Target.OriginalPath())) },
			func(_ Outcome, err error) bool { return err != nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.write(n.Target.PluginPath(), large)
			a := &Adopter{Installer: n.Installer}
			c.prepare(n, a)
			at := time.Duration(0)
			looks := func(times int) {
				for range times {
					o, err := a.Look(time.Unix(1_000_000, 0).Add(at))
					if at > 10*time.Second && !c.want(o, err) {
						t.Fatalf("after %s: %+v, %v", at, o, err)
					}
					at += time.Second
				}
			}
			looks(60) // settled, and at the longest interval between attempts
			before := bytesRead(t)
			looks(25)
			if read := bytesRead(t) - before; read > size+size/2 { // one attempt at what has failed, or none
				t.Errorf("25 looks read %d bytes", read)
			}
		})
	}
}
