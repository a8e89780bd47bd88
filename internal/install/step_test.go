package install

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// used is a disk on which To is run by something until a moment, as on Windows.
type used struct {
	until time.Time
	done  []string
}

func (u *used) Do(s Step) error {
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
