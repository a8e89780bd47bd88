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

func TestTheFirstInstallationWaitsForWhoeverWritesThePlugin(t *testing.T) {
	for name, before := range map[string]func(n node){
		"on a fresh node":             func(node) {},
		"of an agent that comes back": func(n node) { n.install(Installed); n.write(n.Target.PluginPath(), program("v2")) },
		"after an interrupted run":    func(n node) { n.journal(Installing) },
		"after an interrupted upgrade": func(n node) {
			n.install(Installed)
			n.write(n.Target.PluginPath(), program("v2"))
			n.journal(Installing)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			before(n)
			plugin := n.content(n.Target.PluginPath())
			w, err := os.OpenFile(n.Target.PluginPath(), os.O_WRONLY|os.O_APPEND, 0)
			n.must(err)
			defer w.Close()
			a := &Adopter{Installer: n.Installer}
			for _, at := range []time.Duration{0, 2 * SettleTime, 4 * SettleTime} {
				if o := look(t, a, at); !strings.Contains(o.Waiting, "being written") || o.Stuck {
					t.Fatalf("with a writer: %+v", o)
				}
			}
			_, err = w.WriteString("the rest")
			n.must(err)
			n.must(w.Close())
			if o := look(t, a, 5*SettleTime); !strings.Contains(o.Waiting, "changed less than") {
				t.Fatalf("just written: %+v", o)
			}
			if o := look(t, a, 6*SettleTime); o.Waiting != "" || o.Result.Action == Nothing && o.Result.Recovered == "" {
				t.Fatalf("settled: %+v", o)
			}
			n.wantInstalled([]byte(plugin + "the rest"))
		})
	}
}

func TestAStandInInPlaceIsUpgradedAtOnce(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	n.write(n.Executable, standIn("2"))
	if o := look(t, &Adopter{Installer: n.Installer}, 0); o.Result.Action != Upgraded {
		t.Fatalf("got %+v", o)
	}
	n.wantInstalled(program("v1"))
}

func TestAPluginThatAnInterruptedRunTookAwayIsBackAtOnce(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	n.must(os.Remove(n.Target.PluginPath()))
	n.journal(Installing)
	if o := look(t, &Adopter{Installer: n.Installer}, 0); o.Result.Recovered != Reinstated {
		t.Fatalf("got %+v", o)
	}
	n.wantInstalled(program("v1"))
}

func TestForeignIsWhatLiesWhereAStandInWillBeAgain(t *testing.T) {
	fresh := newNode(t)
	if o := look(t, &Adopter{Installer: fresh.Installer}, 0); o.Waiting == "" || o.Foreign {
		t.Fatalf("a plugin that never had a stand-in: %+v", o)
	}
	n, a := newAdopter(t)
	n.write(n.Target.PluginPath(), program("v2"))
	if o := look(t, a, 0); o.Waiting == "" || !o.Foreign {
		t.Fatalf("a plugin written over the stand-in: %+v", o)
	}
	if o := look(t, a, SettleTime); o.Result.Action != Adopted || o.Foreign {
		t.Fatalf("adopted: %+v", o)
	}
	n.uninstall(Restored)
	if o := look(t, a, 2*SettleTime); !o.Uninstalled || o.Foreign {
		t.Fatalf("uninstalled: %+v", o)
	}
}

func TestAStandInThatCannotBeRenewedIsNotForeign(t *testing.T) {
	n, a := newAdopter(t)
	n.must(os.Remove(n.Executable))
	if o, err := a.Look(time.Unix(0, 0)); err == nil || o.Foreign {
		t.Fatalf("got %+v, %v, want an error and nothing foreign", o, err)
	}
}

// TestWhatFailsIsTriedAgainAtGrowingIntervals counts the installations begun on
// a disk on which none succeeds.
func TestWhatFailsIsTriedAgainAtGrowingIntervals(t *testing.T) {
	n := newNode(t)
	disk := &fullDisk{}
	n.Disk = disk
	a := &Adopter{Installer: n.Installer}
	failed := 0
	for s := range 300 {
		if _, err := a.Look(time.Unix(int64(s), 0)); err != nil {
			failed++
		}
	}
	if failed != 299 { // all but the first, which waits for the plugin to settle
		t.Errorf("%d of 300 looks named the failure", failed)
	}
	if disk.tried < 10 || disk.tried > 15 {
		t.Errorf("tried %d times in 300 s", disk.tried)
	}
	n.write(n.Executable, standIn("2"))
	before := disk.tried
	if _, err := a.Look(time.Unix(300, 0)); err == nil || disk.tried == before {
		t.Error("a changed file was not tried at once")
	}
}

// fullDisk takes no file.
type fullDisk struct{ tried int }

func (d *fullDisk) Do(s Step) error {
	if s.Op != Copy {
		return Disk{}.Do(s)
	}
	d.tried++
	return errDiskFull
}
