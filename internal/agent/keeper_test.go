package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/install"
	build "evenkeel.dev/evenkeel/internal/version"
)

// newTestKeeper is a keeper of a plugin folder with this plugin and a stand-in
// that is none.
func newTestKeeper(t *testing.T, plugin []byte) *keeper {
	t.Helper()
	dir := t.TempDir()
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{
		installer: install.Installer{
			Target:     install.Target{BinDir: dir, Plugin: "bridge", SubDir: cni.OriginalDir},
			Executable: filepath.Join(dir, "evenkeel-cni"),
			Disk:       install.Disk{},
		},
		log: slog.New(slog.NewTextHandler(io.Discard, nil)), metrics: m,
		settings: func() cni.Settings { return cni.Settings{} },
		foreign:  func(bool) {},
		late:     func(time.Duration) {}, note: func(string, ...any) {},
	}
	if err := os.WriteFile(k.installer.Target.PluginPath(), plugin, 0o755); err != nil {
		t.Fatal(err)
	}
	return k
}

func TestAnAgentSaysWhichReleaseItIs(t *testing.T) {
	var out strings.Builder
	if code := Run(t.Context(), Streams{Out: &out, Err: io.Discard}, []string{"version"}); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if !strings.HasPrefix(out.String(), "evenkeel-agent "+build.String()+" ") || strings.Contains(out.String(), "(devel)") {
		t.Errorf("said %q; this build is %q", out.String(), build.String())
	}
}

// TestExclusionsAreTriedAgainBesideTheLoop has a scanner that answers at the
// fourth attempt, and slowly.
func TestExclusionsAreTriedAgainBesideTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestKeeper(t, []byte("no program"))
		began := time.Now()
		var tried []time.Duration
		k.exclude = func(ctx context.Context) error {
			tried = append(tried, time.Since(began).Round(time.Second))
			if len(tried) == 4 {
				return nil
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute): // as PowerShell can take
			}
			return errors.New("the service has not started")
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan struct{})
		go func() { defer close(ended); k.Run(ctx) }()

		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := k.problems.get("install"); !strings.Contains(got, "not a complete") {
			t.Errorf("while the scanner is asked the plugin is not looked at: %q", got)
		}
		time.Sleep(85 * time.Second)
		synctest.Wait()
		if got := k.problems.get("defender"); got != "the service has not started" {
			t.Errorf("problem %q", got)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := k.problems.get("defender"); got != "" {
			t.Errorf("after it has succeeded: %q", got)
		}
		if len(tried) != 4 || tried[1] != 70*time.Second || tried[2] != 150*time.Second || tried[3] != 250*time.Second {
			t.Errorf("tried after %v, want 0s, 1m10s, 2m30s, 4m10s", tried)
		}
		cancel()
		<-ended
	})
}

// TestAnAgentServesWhileThePluginIsBeingWritten is about a boot at which the
// plugin's own installer and the agent start together.
func TestAnAgentServesWhileThePluginIsBeingWritten(t *testing.T) {
	dir, plugin, standIn := folder(t)
	writer, err := os.OpenFile(plugin, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	w := newWorld(t, "")
	w.must(w.stop())
	w.run(func(o *Options) {
		on, off := true, false
		o.Config.Install.Enabled, o.Config.Install.DefenderExclusions = &on, &off
		o.Config.Install.BinDir, o.Config.Install.Plugin, o.Config.Install.Executable = dir, filepath.Base(plugin), standIn
	})
	w.eventually("the status says what is waited for", func() bool {
		return strings.Contains(strings.Join(w.status().Problems, "\n"), "pods are not paced now: "+plugin+": it is being written")
	})
	if s := w.status(); s.Ready || !s.Conditions.Listening || s.Install.InPlace.StandIn {
		t.Errorf("status: %+v", s)
	}
	w.settled().add("a").granted().done(0)
	w.must(writer.Close())
	w.eventually("the stand-in is in place", func() bool { return w.status().Install.Installed })
}

// What stand-ins go by is looked at as often as the plugin's file, and mended.
// After an uninstallation it is left alone.
func TestSettingsThatAreRemovedOrChangedAreWrittenAnew(t *testing.T) {
	t.Parallel()
	dir, plugin, standIn := folder(t)
	w := newWorld(t, "")
	w.must(w.stop())
	w.run(func(o *Options) {
		on, off := true, false
		o.Config.Install.Enabled, o.Config.Install.DefenderExclusions = &on, &off
		o.Config.Install.BinDir, o.Config.Install.Plugin, o.Config.Install.Executable = dir, filepath.Base(plugin), standIn
	})
	w.eventually("the stand-in is in place", func() bool { return w.status().Conditions.Installed })
	gate := filepath.Join(dir, cni.OriginalDir, "gate")
	var want []byte
	w.eventually("the settings are written", func() bool {
		var err error
		want, err = os.ReadFile(filepath.Join(gate, "settings"))
		return err == nil
	})
	for n, spoil := range []func() error{
		func() error { return os.RemoveAll(gate) },
		func() error {
			return os.WriteFile(filepath.Join(gate, "settings"), []byte("socket elsewhere\n"), 0o644)
		},
	} {
		w.must(spoil())
		w.eventually("the settings are written anew", func() bool {
			got, err := os.ReadFile(filepath.Join(gate, "settings"))
			return err == nil && bytes.Equal(got, want)
		})
		w.eventually("it is counted", func() bool {
			return strings.Contains(w.get("/metrics"), fmt.Sprintf(`evenkeel_pace_repairs_total{what="settings"} %d`, n+1))
		})
	}
	if s := w.status(); len(s.Recent) != 3 || !strings.Contains(s.Recent[2].Text, "what stand-ins should know was removed or changed") {
		t.Errorf("recent: %+v", s.Recent)
	}
	ours, err := os.ReadDir(filepath.Join(dir, cni.OriginalDir))
	w.must(err)
	for _, e := range ours {
		target := install.Target{BinDir: dir, Plugin: e.Name(), SubDir: cni.OriginalDir}
		if err := target.Validate(); e.IsDir() && err == nil {
			t.Errorf("%s is ours, and would be taken for a plugin's name", e.Name())
		}
	}
	w.eventually("it is uninstalled", func() bool {
		return Run(t.Context(), Streams{Out: io.Discard, Err: io.Discard}, []string{"uninstall", "--bin-dir", dir, "--plugin", filepath.Base(plugin)}) == exitOK
	})
	time.Sleep(3 * lookEvery)
	if _, err := os.Lstat(filepath.Join(dir, cni.OriginalDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("our folder is back after an uninstallation (%v)", err)
	}
}
