package install

import (
	"os"
	"strings"
	"testing"
	"time"
)

func look(t *testing.T, a *Adopter, at time.Duration) Outcome {
	t.Helper()
	o, err := a.Look(time.Unix(1_000_000, 0).Add(at))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func newAdopter(t *testing.T) (node, *Adopter) {
	n := newNode(t)
	n.install(Installed)
	a := &Adopter{Installer: n.Installer}
	if o := look(t, a, 0); o.Result.Action != Nothing || o.Waiting != "" {
		t.Fatalf("a fresh installation gave %+v", o)
	}
	return n, a
}

func TestANewPluginIsAdoptedOnceItsContentHasSettled(t *testing.T) {
	n, a := newAdopter(t)
	n.write(n.Target.PluginPath(), program("v2"))
	for _, at := range []time.Duration{1, 2, SettleTime - 1} {
		if o := look(t, a, at); o.Waiting == "" {
			t.Fatalf("after %s: adopted before it settled", at)
		}
	}
	if o := look(t, a, SettleTime+1); o.Result.Action != Adopted {
		t.Fatalf("settled: %+v", o)
	}
	n.wantInstalled(program("v2"))
	if o := look(t, a, SettleTime+2); o.Result.Action != Nothing || o.Waiting != "" {
		t.Fatalf("afterwards: %+v", o)
	}
}

func TestAChangingPluginIsNotAdopted(t *testing.T) {
	n, a := newAdopter(t)
	for i := range 5 {
		n.write(n.Target.PluginPath(), program(strings.Repeat("x", i+1)))
		if o := look(t, a, time.Duration(i)*2*SettleTime); o.Waiting == "" {
			t.Fatal("adopted a file that changed between looks")
		}
	}
}

func TestAHalfWrittenPluginIsNotAdopted(t *testing.T) {
	n, a := newAdopter(t)
	n.write(n.Target.PluginPath(), program("v2")[:70])
	for i := range 3 {
		if o := look(t, a, time.Duration(i)*2*SettleTime); o.Waiting == "" {
			t.Fatalf("adopted a file cut short: %+v", o)
		}
	}
	n.write(n.Target.PluginPath(), program("v2"))
	look(t, a, 10*SettleTime)
	if o := look(t, a, 11*SettleTime); o.Result.Action != Adopted {
		t.Fatalf("complete: %+v", o)
	}
}

func TestAPluginHeldByAWriterIsNotAdopted(t *testing.T) {
	n, a := newAdopter(t)
	n.write(n.Target.PluginPath(), program("v2"))
	w, err := os.OpenFile(n.Target.PluginPath(), os.O_WRONLY, 0)
	n.must(err)
	look(t, a, 0)
	if o := look(t, a, 2*SettleTime); !strings.Contains(o.Waiting, "being written") {
		t.Fatalf("with a writer: %+v", o)
	}
	n.must(w.Close())
	look(t, a, 3*SettleTime)
	if o := look(t, a, 4*SettleTime); o.Result.Action != Adopted {
		t.Fatalf("without: %+v", o)
	}
}

func TestAPluginThatVanishesForALongerWhileIsReinstated(t *testing.T) {
	n, a := newAdopter(t)
	n.must(os.Remove(n.Target.PluginPath()))
	if o := look(t, a, 0); o.Waiting == "" {
		t.Fatalf("at once: %+v", o)
	}
	if o := look(t, a, SettleTime); o.Result.Action != Reinstated {
		t.Fatalf("later: %+v", o)
	}
	n.wantInstalled(program("v1"))
}

func TestAClockThatJumpsBackDelaysAdoptionOnly(t *testing.T) {
	n, a := newAdopter(t)
	n.write(n.Target.PluginPath(), program("v2"))
	look(t, a, time.Hour)
	if o := look(t, a, 0); o.Waiting == "" {
		t.Fatalf("after the jump: %+v", o)
	}
	if o := look(t, a, SettleTime); o.Result.Action != Adopted {
		t.Fatalf("settled: %+v", o)
	}
}

func TestWhatWasUninstalledByHandIsNotInstalledAgain(t *testing.T) {
	n, a := newAdopter(t)
	n.uninstall(Restored)
	for i := range 3 {
		if o := look(t, a, time.Duration(i)*2*SettleTime); !strings.Contains(o.Waiting, "uninstalled") {
			t.Fatalf("got %+v", o)
		}
	}
	n.wantBare(program("v1"))
}
