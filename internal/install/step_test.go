package install

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// used is a disk on which To is run by something until a moment, as on Windows.
type used struct {
	until    time.Time
	replaced time.Time // somebody else's doing; zero: never
	done     []string
}

func (u *used) Do(s Step) error {
	if s.Op == Check {
		if !u.replaced.IsZero() && !time.Now().Before(u.replaced) {
			return ErrChanged
		}
		return nil
	}
	if s.Op == Replace && time.Now().Before(u.until) {
		return ErrInUse
	}
	u.done = append(u.done, string(s.Op)+" "+s.From+" "+s.To)
	return nil
}

func TestAFileInUseIsReplacedInAnIdleMomentOrRenamedOutOfTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		inUse, idle time.Duration
		want        string
	}{
		"idle at once":           {0, IdleWait, "replace new plugin"},
		"idle after a while":     {IdleWait / 2, IdleWait, "replace new plugin"},
		"never idle":             {time.Hour, IdleWait, "move new new, move plugin aside, move new plugin"},
		"where nobody may wait":  {time.Millisecond, 0, "move new new, move plugin aside, move new plugin"},
		"idle a moment too late": {IdleWait + time.Second, IdleWait, "move new new, move plugin aside, move new plugin"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				disk := &used{until: began.Add(c.inUse)}
				if _, err := put(disk, c.idle, Step{Op: Put, From: "new", To: "plugin", Aside: "aside"}); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(disk.done, ", "); got != c.want {
					t.Errorf("did %s, want %s", got, c.want)
				}
				if took := time.Since(began); took > min(c.inUse, c.idle)+idlePause {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestAPluginThatIsReplacedDuringTheWaitIsNotReplacedAgain(t *testing.T) {
	for name, inUse := range map[string]time.Duration{"idle soon after": IdleWait / 2, "never idle": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := &used{until: time.Now().Add(inUse), replaced: time.Now().Add(IdleWait / 3)}
				_, err := put(disk, IdleWait, Step{Op: Put, From: "new", To: "plugin", Aside: "aside", Guard: &Step{Op: Check, From: "plugin"}})
				if !errors.Is(err, ErrChanged) || len(disk.done) > 0 {
					t.Errorf("%v, did %q", err, disk.done)
				}
			})
		})
	}
}

// doer is a function as a Doer.
type doer func(Step) error

func (d doer) Do(s Step) error { return d(s) }

// TestAPluginThatIsReplacedAtTheLastMomentIsKept has somebody put another plugin
// there while the change is prepared.
func TestAPluginThatIsReplacedAtTheLastMomentIsKept(t *testing.T) {
	install, uninstall := Installer.Install, Installer.Uninstall
	for name, c := range map[string]struct {
		prepare func(n node)
		run     func(Installer) (Result, error)
	}{
		"at installing":   {func(node) {}, install},
		"at upgrading":    {func(n node) { n.install(Installed); n.write(n.Executable, standIn("2")) }, install},
		"at adopting":     {func(n node) { n.install(Installed); n.write(n.Target.PluginPath(), program("v2")) }, install},
		"at reinstating":  {func(n node) { n.install(Installed); n.must(os.Remove(n.Target.PluginPath())) }, install},
		"at uninstalling": {func(n node) { n.install(Installed) }, uninstall},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			c.prepare(n)
			meddled := n.Installer
			meddled.Disk = doer(func(s Step) error {
				if s.Op == Check {
					tmp := n.Target.PluginPath() + ".tmp"
					n.write(tmp, program("newer"))
					n.must(os.Rename(tmp, n.Target.PluginPath()))
				}
				return Disk{}.Do(s)
			})
			if _, err := c.run(meddled); !errors.Is(err, ErrChanged) {
				t.Errorf("error %v", err)
			}
			if n.content(n.Target.PluginPath()) != string(program("newer")) {
				t.Fatal("the newer plugin is not in place any more")
			}
			n.must(second(n.Install()))
			n.wantInstalled(program("newer"))
		})
	}
}

func second(_ Result, err error) error { return err }
