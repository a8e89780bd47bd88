package cni

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// noon is when the tests of this file happen.
func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func find(dir, key string, now time.Time) *stamp { return findStamp(dir, key, now, time.Time{}) }

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestRefusedPodIsRememberedSinceItsFirstAttempt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	find(dir, "uid-a", noon()).keep(noon())
	second := find(dir, "uid-a", noon().Add(time.Minute))
	if !second.first.Equal(noon()) || second.attempt != 2 {
		t.Errorf("second attempt: first at %v, number %d", second.first, second.attempt)
	}
	second.keep(noon().Add(time.Minute))
	third := find(dir, "uid-a", noon().Add(2*time.Minute))
	if !third.first.Equal(noon()) || third.attempt != 3 {
		t.Errorf("third attempt: first at %v, number %d", third.first, third.attempt)
	}
	third.forget()
	if again := find(dir, "uid-a", noon()); again.attempt != 1 {
		t.Errorf("after its turn: attempt %d", again.attempt)
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
}

func TestPodWithoutUIDHasAStampOfItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	find(dir, "shop/cart-0", noon()).keep(noon())
	if got := find(dir, "shop/cart-0", noon()).attempt; got != 2 {
		t.Errorf("attempt %d, want 2", got)
	}
	if got := find(dir, "shop/cart-1", noon()).attempt; got != 1 {
		t.Errorf("another pod: attempt %d, want 1", got)
	}
}

func TestPodThatStaysAwayLosesItsPlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	find(dir, "uid-a", noon()).keep(noon())
	if s := find(dir, "uid-a", noon().Add(forgotten+time.Second)); s.attempt != 1 || s.name != "" {
		t.Errorf("got attempt %d, file %q", s.attempt, s.name)
	}
	find(dir, "uid-b", noon()).keep(noon())
	find(dir, "uid-c", noon()).stand(noon().Add(forgotten + time.Second))
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
}

// With an agent, a pod that was refused and then deleted would leave its file
// for ever if only the queue without one looked at it.
func TestStampsOfPodsThatNeverCameBackAreRemovedByLaterStarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	for _, pod := range []string{"uid-deleted", "uid-patient"} {
		find(dir, pod, noon()).keep(noon())
	}
	now := noon().Add(forgotten + time.Second)
	find(dir, "uid-patient", noon().Add(forgotten)).keep(now)
	find(dir, "uid-new", now)
	if left := names(t, dir); len(left) != 1 || !strings.HasSuffix(left[0], "-uid-patient") {
		t.Errorf("files left: %v", left)
	}
}

func TestStampsFromBeforeTheClockWasSetBackStandInNobodysWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	find(dir, "uid-a", noon()).keep(noon().Add(time.Hour))
	if got := find(dir, "uid-b", noon().Add(time.Second)).stand(noon().Add(time.Second)); got.ahead != 0 || got.known != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestStampFromBeforeTheRebootDoesNotCount(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	find(dir, "uid-a", noon()).keep(noon())
	booted := noon().Add(30 * time.Second)
	if s := findStamp(dir, "uid-a", noon().Add(time.Minute), booted); s.attempt != 1 {
		t.Errorf("attempt %d, want 1", s.attempt)
	}
}

func TestClockSetBackDoesNotPutAPodIntoTheFuture(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	find(dir, "uid-a", noon()).keep(noon())
	now := noon().Add(-time.Hour)
	if s := find(dir, "uid-a", now); s.first.After(now) {
		t.Errorf("first attempt at %v, after now %v", s.first, now)
	}
}

func TestPlaceGoesByFirstAttemptAmongThosePresent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	early, late := find(dir, "uid-z", noon()), find(dir, "uid-a", noon().Add(time.Second))
	gone := find(dir, "uid-m", noon().Add(-time.Second))
	gone.stand(noon())
	now := noon().Add(2 * present)
	early.stand(now)
	local := func(s standing) standing { s.first = s.first.UTC(); return s }
	if got := local(late.stand(now)); got != (standing{ahead: 1, length: 2, known: 3, first: noon()}) {
		t.Errorf("late: %+v", got)
	}
	if got := local(early.stand(now)); got != (standing{ahead: 0, length: 2, known: 3, first: noon()}) {
		t.Errorf("early: %+v", got)
	}
	if got := local(gone.stand(now)); got != (standing{ahead: 0, length: 3, known: 3, first: noon().Add(-time.Second)}) {
		t.Errorf("back again: %+v", got)
	}
}

func TestStampsThatCannotBeStoredDoNoHarm(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := find(dir, "uid-a", noon())
	if got := s.stand(noon()); got != (standing{}) {
		t.Errorf("got %+v", got)
	}
	s.keep(noon())
	s.forget()
}

func TestForeignFilesAreNotStamps(t *testing.T) {
	for _, name := range []string{"", "x", "-", "123-a", "lock-0", "00000000000x1-a", "-000000000001-a"} {
		if _, _, ok := parseStamp(name); ok {
			t.Errorf("%q was taken for a stamp", name)
		}
	}
	first, key, ok := parseStamp(stampName(noon(), "uid-with-dashes"))
	if !ok || key != "uid-with-dashes" || !first.Equal(noon()) {
		t.Errorf("got %v %q %v", first, key, ok)
	}
}

func TestNothingIsLeftBehindByAStandInThatWasUninstalledWhileItWaited(t *testing.T) {
	now := time.Now()
	sub := filepath.Join(t.TempDir(), OriginalDir)
	s := findStamp(filepath.Join(stateDir(sub), "first"), "uid", now, now.Add(-time.Hour))
	q := &lockQueue{dir: stateDir(sub), limit: 1, last: filepath.Join(sub, "bridge")}
	if s.touch(now) {
		t.Error("a stamp was made")
	}
	if f, err := q.tryFile("lock-0"); err == nil {
		f.Close()
		t.Error("a lock file was made")
	}
	if _, err := os.Stat(sub); !os.IsNotExist(err) {
		t.Errorf("the folder is there again: %v", err)
	}
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if !s.touch(now) {
		t.Error("installed again, there is no stamp")
	}
}
