package agent

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"time"

	"evenkeel.dev/evenkeel/internal/install"
)

// report is what install and uninstall print with -o json.
type report struct {
	install.Result
	Warnings []string       `json:"warnings,omitempty"`
	Status   install.Status `json:"status"`
}

func cmdInstall(ctx context.Context, s Streams, args []string) error {
	var f installFlags
	set := flag.NewFlagSet("evenkeel-agent install", flag.ContinueOnError)
	f.register(set)
	set.StringVar(&f.executable, "executable", "", "`PATH` of the stand-in; default: evenkeel-cni beside this program")
	wait := set.Duration("wait", 30*time.Second, "how long to wait for a plugin that is just being written, and until it has not changed for a second")
	if err := parse(set, s, args); err != nil {
		return err
	}
	if *wait <= install.SettleTime {
		return fmt.Errorf("--wait %v: want more than %v, for which the plugin must not have changed; %w", *wait, install.SettleTime, errUsage)
	}
	i, conf, err := f.installer()
	if err != nil {
		return err
	}
	result, err := installSettled(ctx, i, *wait, func(why string) { fmt.Fprintf(s.Err, "Waiting: %s\n", why) })
	if err != nil {
		return err
	}
	r := report{Result: result}
	if *conf.Install.DefenderExclusions && runtime.GOOS == "windows" {
		if err := install.ExcludeFromDefender(ctx, runProgram, i.Target); err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("Windows Defender scans the plugin at every pod start: %v", err))
		}
	}
	return r.print(s.Out, f.output, i)
}

// lookAgainEvery is between two looks at a plugin that is not left alone yet.
const lookAgainEvery = 50 * time.Millisecond

// installSettled installs once nobody is at work on the plugin, and says what it
// waits for.
func installSettled(ctx context.Context, i install.Installer, wait time.Duration, say func(string)) (install.Result, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	adopter := install.Adopter{Installer: i, ByHand: true}
	for said := ""; ; {
		o, err := adopter.Look(time.Now())
		switch {
		case err != nil || o.Waiting == "":
			return o.Result, err
		case o.Stuck:
			return o.Result, fmt.Errorf("plugin %s", o.Waiting)
		case o.Waiting != said:
			said = o.Waiting
			say(said)
		}
		select {
		case <-ctx.Done():
			return o.Result, fmt.Errorf("gave up after %s, nothing was changed: %s", time.Since(began).Round(time.Millisecond), o.Waiting)
		case <-time.After(lookAgainEvery):
		}
	}
}

func cmdUninstall(ctx context.Context, s Streams, args []string) error {
	var f installFlags
	set := flag.NewFlagSet("evenkeel-agent uninstall", flag.ContinueOnError)
	f.register(set)
	wait := set.Duration("wait", 30*time.Second, "how long to wait for running stand-ins, which Windows does not delete")
	if err := parse(set, s, args); err != nil {
		return err
	}
	i, conf, err := f.installer()
	if err != nil {
		return err
	}
	i.Executable, i.Patience = "", *wait
	result, err := i.Uninstall()
	if err != nil {
		return err
	}
	r := report{Result: result}
	if *conf.Install.DefenderExclusions && runtime.GOOS == "windows" {
		if err := install.IncludeInDefender(ctx, runProgram, i.Target); err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("Windows Defender still excludes our paths: %v", err))
		}
	}
	return r.print(s.Out, f.output, i)
}

func (r report) print(w io.Writer, format string, i install.Installer) error {
	var err error
	if r.Status, err = i.Status(); err != nil {
		return err
	}
	if format == "json" {
		return printJSON(w, r)
	}
	path := i.Target.PluginPath()
	if r.Recovered != "" {
		fmt.Fprintf(w, "An interrupted run was found and finished (%s).\n", r.Recovered)
	}
	fmt.Fprintf(w, "%s: %s\n", path, explain(r.Action))
	if r.Gap > 0 {
		fmt.Fprintf(w, "The file was in use: for %s there was none under its name.\n", r.Gap.Round(time.Microsecond))
	}
	for _, l := range r.Leftovers {
		fmt.Fprintf(w, "Still in use, to be removed by the next run: %s\n", l)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "Warning: %s\n", warning)
	}
	for _, p := range r.Status.Problems {
		fmt.Fprintf(w, "Problem: %s\n", p)
	}
	return nil
}

func explain(a install.Action) string {
	switch a {
	case install.Nothing:
		return "nothing to do"
	case install.Installed:
		return "installed, the original is kept"
	case install.Adopted:
		return "installed again before a new plugin, which is the original now"
	case install.Upgraded:
		return "the stand-in was replaced by this version"
	case install.Reinstated:
		return "was missing; the stand-in is back"
	case install.Restored:
		return "uninstalled, the original is back"
	case install.Cleared:
		return "uninstalled, the plugin in place stays"
	}
	return string(a)
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// runProgram is an install.Runner that gives up after a while.
func runProgram(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second // what it leaves behind may keep its streams
	return cmd.CombinedOutput()
}
