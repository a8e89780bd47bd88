//go:build linux || windows

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/herd"
)

type herdFlags struct {
	herd.Options
	output string
	page   string
	keep   string
}

func newHerdCommand(streams Streams) *cobra.Command {
	f := &herdFlags{Options: herd.Defaults()}
	cmd := &cobra.Command{
		Use:   "herd",
		Short: "See on this machine what pacing does for pods that start all at once",
		Long: `Herd starts many pods at once on this machine, first unpaced, then paced by a node agent, and compares when they were ready and
how the node's heartbeat fared meanwhile.

The pods are processes that work and then are ready. The CNI plugin, the stand-in that is installed over it, the agent and the socket
between them are the real ones, in a temporary folder; kubelet and container runtime are modelled. Nothing outside the folder is touched,
and no process or file is left behind, also after Ctrl-C. It needs no rights on Linux; on Windows the agent's pipe wants an administrator. See docs/herd.md.

Other work on the machine slows both runs down. The figures mean most when there is none.`,
		Example: `  evenkeel herd
  evenkeel herd -o html >herd.html
  evenkeel herd --pods 60 --work 1s --limit adaptive -o json
  evenkeel herd --startup-probe 15s     # what probes make of a herd`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runHerd(cmd.Context(), streams, f) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.Pods, "pods", f.Pods, "start `N` pods at once")
	flags.DurationVar(&f.Work, "work", f.Work, "CPU `TIME` that a pod needs to get ready")
	flags.StringVar(&f.Limit, "limit", f.Limit, "pods starting at once in the paced run: `N`, auto (the agent's default) or adaptive")
	flags.DurationVar(&f.PluginTime, "plugin-time", f.PluginTime, "`TIME` of the network plugin for one pod, half of it CPU time")
	flags.DurationVar(&f.Attempt, "attempt", f.Attempt, "longest `TIME` that one ADD waits before it is told to try again later; default: the agent's")
	flags.DurationVar(&f.Retry, "retry", f.Retry, "pause of the kubelet before it tries again, `TIME` to half as much more")
	flags.DurationVar(&f.StartupProbe, "startup-probe", f.StartupProbe, "kill and restart a container that is not ready `TIME` after its start; default: never")
	flags.DurationVar(&f.Heartbeat, "heartbeat", f.Heartbeat, "one heartbeat every `TIME`")
	flags.DurationVar(&f.Timeout, "timeout", f.Timeout, "end a run after `TIME`, whoever is ready by then")
	flags.StringVar(&f.StandIn, "executable", "", "install this evenkeel-cni `FILE` as the stand-in; default: the one beside this program, or else this program in its place")
	flags.StringVarP(&f.output, "output", "o", "table", "`FORMAT` of the result: table, json, or html for a page that draws both runs")
	flags.StringVar(&f.page, "html", "", "write that page to `FILE` too, whatever the output")
	flags.StringVar(&f.keep, "keep", "", "keep the agent's log, its configuration and the pods' files in the new folder `DIR`")
	return cmd
}

func runHerd(ctx context.Context, streams Streams, f *herdFlags) (err error) {
	switch f.output {
	case "table", "json", "html":
	default:
		return usageError(fmt.Errorf("--output %q: want table, json or html", f.output))
	}
	if err := f.Validate(); err != nil {
		return usageError(err)
	}
	if err := f.findPrograms(); err != nil {
		return err
	}
	remove, err := f.makeDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	page, err := f.createPage()
	if err != nil {
		return err
	}
	defer page.abandon()
	progress := newHerdProgress(streams.Err)
	f.Progress = progress.show
	report, err := herd.Start(ctx, f.Options)
	progress.end()
	if err != nil {
		return err
	}
	if err := page.write(report); err != nil {
		return err
	}
	if err := printHerd(streams.Out, f.output, report); err != nil {
		return err
	}
	if r := report.Paced; r.Ready < len(r.Pods) {
		return fmt.Errorf("only %d of %d pods became ready in the paced run within %s", r.Ready, len(r.Pods), f.Timeout)
	}
	return nil
}

// findPrograms finds this program, and the stand-in if it is not named and there is one.
func (f *herdFlags) findPrograms() (err error) {
	if f.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if f.StandIn == "" {
		f.StandIn = herd.StandInBeside(f.Program)
	}
	return nil
}

// makeDir makes the folder of the run, and returns what removes it.
func (f *herdFlags) makeDir() (remove func() error, err error) {
	if f.keep != "" {
		if f.Dir, err = filepath.Abs(f.keep); err == nil {
			err = os.Mkdir(f.Dir, 0o755)
		}
		if err != nil {
			return nil, fmt.Errorf("--keep: %w", err)
		}
		return func() error { return nil }, nil
	}
	if f.Dir, err = os.MkdirTemp("", "evenkeel-herd-"); err != nil {
		return nil, err
	}
	return func() error { return os.RemoveAll(f.Dir) }, nil
}

// herdPage is the file of --html, nil without it. It has its name once it is whole.
type herdPage struct {
	*os.File
	name string
}

// createPage is called first: nobody wants to learn in two minutes that there is no such folder.
func (f *herdFlags) createPage() (*herdPage, error) {
	if f.page == "" {
		return nil, nil
	}
	file, err := os.Create(f.page + ".part")
	if err != nil {
		return nil, fmt.Errorf("--html: %w", err)
	}
	return &herdPage{file, f.page}, nil
}

func (p *herdPage) write(r herd.Report) error {
	if p == nil {
		return nil
	}
	err := errors.Join(herd.WritePage(p, r), p.Close())
	if err == nil {
		err = os.Rename(p.Name(), p.name)
	}
	return err
}

// abandon removes what was not finished.
func (p *herdPage) abandon() {
	if p != nil {
		_ = p.Close()
		_ = os.Remove(p.Name())
	}
}

func printHerd(w io.Writer, format string, r herd.Report) error {
	switch format {
	case "html":
		return herd.WritePage(w, r)
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	default:
		return herd.WriteTable(w, r)
	}
}

// runHerdProcess does the work of a process of a herd, if this is one.
func runHerdProcess(ctx context.Context) (code int, is bool) { return herd.Process(ctx) }
