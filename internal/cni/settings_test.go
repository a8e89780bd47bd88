package cni

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/sock"
)

func seconds(s float64) paceapi.Millis { return paceapi.Millis(s * float64(time.Second)) }

func defaults(cpus int) Settings { return Settings{}.complete(cpus) }

func TestDefaults(t *testing.T) {
	want := Settings{
		Socket: sock.DefaultPath, Limit: 8, Attempt: seconds(60), Absent: seconds(10), AbsentBoot: seconds(30), MaxWait: seconds(540),
	}
	if diff := cmp.Diff(want, defaults(8)); diff != "" {
		t.Error(diff)
	}
	if got := defaults(1).Limit; got != 2 {
		t.Errorf("one core: limit %d, want 2", got)
	}
}

func TestSettingsAreHeldToTheirBounds(t *testing.T) {
	got := Settings{Limit: 5000, Attempt: seconds(3600), Absent: seconds(100), AbsentBoot: seconds(7)}.complete(4)
	want := Settings{
		Socket: sock.DefaultPath, Limit: 4, Attempt: seconds(120), Absent: seconds(60), AbsentBoot: seconds(7), MaxWait: seconds(540),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsAreReadBackAsWritten(t *testing.T) {
	dir := t.TempDir()
	want := Settings{
		Socket: "/run/other.sock", Limit: 3, Attempt: seconds(10), Absent: seconds(1), AbsentBoot: seconds(2), MaxWait: seconds(60),
		ExcludeNamespaces: []string{"kube-system", "calico-system"},
	}
	for range 2 { // over an earlier one, too
		if err := WriteSettings(dir, want); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, readSettings(dir)); diff != "" {
		t.Error(diff)
	}
	left, err := os.ReadDir(stateDir(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
}

func TestSettingsThatCannotBeReadAreDefaults(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Settings
	}{
		{"cut off", "limit 3\nattemptMs 60", Settings{Limit: 3}},
		{"of another kind", "{\"limit\":3}\n", Settings{}},
		{"out of range", "attemptMs -1\nabsentMs 99999999999999999999\nmaxWaitMs 86400001\nlimit 4\n", Settings{Limit: 4}},
		{"of a later version", "limit 3\ncolour blue\n", Settings{Limit: 3}},
		{"empty", "", Settings{}},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(stateDir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(settingsFile(dir), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, readSettings(dir)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestAnyNumberOfNamespacesCanBeExcluded(t *testing.T) {
	dir := t.TempDir()
	var want Settings
	for i := range 200 {
		want.ExcludeNamespaces = append(want.ExcludeNamespaces, fmt.Sprintf("%s-%d", strings.Repeat("x", 55), i))
	}
	if err := WriteSettings(dir, want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, readSettings(dir)); diff != "" {
		t.Error(diff)
	}
}

func TestNamesThatNoNamespaceHasAreNotWritten(t *testing.T) {
	dir := t.TempDir()
	if err := WriteSettings(dir, Settings{Limit: 3, ExcludeNamespaces: []string{"", "a\nlimit 9", "shop", "two words"}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Settings{Limit: 3, ExcludeNamespaces: []string{"shop"}}, readSettings(dir)); diff != "" {
		t.Error(diff)
	}
}

func TestSocketOfTwoLinesIsNotWritten(t *testing.T) {
	if err := WriteSettings(t.TempDir(), Settings{Socket: "/run/a\nlimit 9"}); err == nil {
		t.Error("no error")
	}
}

func TestSettingsWithAnImpossibleLimitAreNotWritten(t *testing.T) {
	dir := t.TempDir()
	if err := WriteSettings(dir, Settings{Limit: -1}); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(filepath.Join(stateDir(dir), "settings")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want no file", err)
	}
}

func TestSettingsAreReplacedWhileAStandInReadsThem(t *testing.T) {
	dir := t.TempDir()
	if err := WriteSettings(dir, Settings{Limit: 3}); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(settingsFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() { _ = reader.Close() })
	if err := WriteSettings(dir, Settings{Limit: 4}); err != nil {
		t.Fatal(err)
	}
	if got := readSettings(dir).Limit; got != 4 {
		t.Errorf("limit %d, want 4", got)
	}
}
