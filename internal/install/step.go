package install

import (
	"errors"
	"fmt"
	"time"
)

// Op is one kind of change to the disk.
type Op string

// The primitive changes. Each either happens or does not, except Copy, which can
// leave half a file under a name nobody runs.
const (
	Mkdir   Op = "mkdir"   // make the folder To unless it exists
	Write   Op = "write"   // make the file To with Data, flushed
	Copy    Op = "copy"    // copy From to the new file To, executable, flushed, and check SHA256
	Save    Op = "save"    // give From the second name To: hard link, else copy, else (From a link) a link to Data
	Check   Op = "check"   // fail with ErrChanged unless From is still what it was: a link to Data, the file To, bytes of SHA256; without any, absent
	Replace Op = "replace" // rename From to To over what is there; ErrInUse when that is running
	Move    Op = "move"    // rename From to To, which does not exist or is From
	Remove  Op = "remove"  // remove the file or empty folder To unless it is gone
	Clear   Op = "clear"   // remove what is in the folder To, but for the file From in one of its folders

	// Put is not primitive: Replace, or where To is running for longer than we
	// wait two Moves, the first one to Aside.
	Put Op = "put"
)

// Step is one change.
type Step struct {
	Op       Op
	From, To string
	Aside    string
	Data     []byte
	SHA256   string
	// Guard is done right before each attempt of a Put to change To.
	Guard *Step
	// Spare marks what can be done without: its failure is none.
	Spare bool
	// Tidy marks clearing up after the work is done: its failure is reported as
	// a leftover, not as an error.
	Tidy bool
}

// Doer makes primitive changes.
type Doer interface {
	Do(Step) error
}

// ErrInUse is returned by a Doer asked to replace a running file on a system
// that does not allow it.
var ErrInUse = errors.New("the file is in use")

// ErrChanged is returned when the plugin was replaced by someone else while it
// was being saved; the next attempt takes the newer one.
var ErrChanged = errors.New("the plugin was replaced meanwhile")

// applied is what carrying out a plan led to.
type applied struct {
	gap       time.Duration // longest time without a file under a name being put
	leftovers []string      // what could not be cleared up
}

// idlePause is between two attempts to replace a file that something runs.
const idlePause = 50 * time.Millisecond

// apply carries out steps in order and stops at the first failure. It waits so
// long for a file to be replaced that is in use.
func apply(d Doer, idle time.Duration, steps []Step) (applied, error) {
	var done applied
	for _, s := range steps {
		var err error
		if s.Op == Put {
			var gap time.Duration
			gap, err = put(d, idle, s)
			done.gap = max(done.gap, gap)
		} else {
			err = d.Do(s)
		}
		switch {
		case err == nil || s.Spare:
		case s.Tidy:
			done.leftovers = append(done.leftovers, fmt.Sprintf("%s: %v", s.To, err))
		default:
			return done, err
		}
	}
	return done, nil
}

func put(d Doer, idle time.Duration, s Step) (time.Duration, error) {
	if err := replaceWhenIdle(d, idle, s); !errors.Is(err, ErrInUse) {
		return 0, err
	}
	// A scanner that has the new file open would make the gap long: a rename to
	// its own name waits until it can be renamed.
	if err := d.Do(Step{Op: Move, From: s.From, To: s.From}); err != nil {
		return 0, err
	}
	if err := guard(d, s); err != nil {
		return 0, err
	}
	if err := d.Do(Step{Op: Move, From: s.To, To: s.Aside}); err != nil {
		return 0, err
	}
	gone := time.Now()
	err := d.Do(Step{Op: Move, From: s.From, To: s.To})
	if err == nil {
		return time.Since(gone), nil
	}
	if back := d.Do(Step{Op: Move, From: s.Aside, To: s.To}); back != nil {
		err = errors.Join(err, fmt.Errorf("%s is missing now: %w", s.To, back))
	}
	return time.Since(gone), err
}

// replaceWhenIdle replaces the file as soon as nothing runs it, or gives up with
// ErrInUse.
func replaceWhenIdle(d Doer, idle time.Duration, s Step) error {
	for deadline := time.Now().Add(idle); ; time.Sleep(idlePause) {
		if err := guard(d, s); err != nil {
			return err
		}
		err := d.Do(Step{Op: Replace, From: s.From, To: s.To})
		if !errors.Is(err, ErrInUse) || !time.Now().Before(deadline) {
			return err
		}
	}
}

func guard(d Doer, s Step) error {
	if s.Guard == nil {
		return nil
	}
	return d.Do(*s.Guard)
}
