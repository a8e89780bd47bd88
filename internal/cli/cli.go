// Package cli is the user's command line: one file for each command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"evenkeel.dev/evenkeel/internal/report"
)

// Streams are where a command reads and writes.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// The exit codes.
const (
	ExitOK       = 0 // the work was done; a plan without moves, refusals and limits are no failures
	ExitError    = 1 // bad policy or input, no permission, no API
	ExitUsage    = 2 // the command line was not understood
	ExitTooMany  = 3 // plan --max-moves was exceeded
	ExitCanceled = 130
)

// exitError is an error that chooses the exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageError(err error) error { return &exitError{ExitUsage, err} }

// Run runs the program: args[0] is the name it was called by. Called as "descheduler", it takes the descheduler's own
// flags at its root. It returns the exit code.
func Run(ctx context.Context, streams Streams, args []string) int {
	if code, is := runHerdProcess(ctx); is {
		return code
	}
	root := newRoot(streams)
	if len(args) > 0 && programName(args[0]) == "descheduler" {
		root = newDescheduler(streams)
	}
	root.SetArgs(args[min(1, len(args)):])
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	fmt.Fprintf(streams.Err, "%s: %s\n", root.Name(), printableLines(strings.TrimRight(err.Error(), "\n")))
	var coded *exitError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, context.Canceled):
		return ExitCanceled
	default:
		return ExitError
	}
}

// printableLines takes out what a terminal would obey.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = report.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

func programName(arg0 string) string {
	return strings.TrimSuffix(filepath.Base(arg0), ".exe")
}

func newRoot(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "evenkeel",
		Short: "Keep a Kubernetes cluster on an even keel",
		Long: `Evenkeel evens pods out over nodes, and paces the start of pods on each node.

  evenkeel plan         what would move, and why: from a file or a live cluster
  evenkeel deschedule   move it: takes the flags and policy files of the Kubernetes descheduler
  evenkeel snapshot     save what a plan is made from to a file
  evenkeel policy       check and convert policy files
  evenkeel webhook      taint new nodes until their agent is ready
  evenkeel controller   take that taint away where no agent does
  evenkeel nodes        each node's queue of starting pods
  evenkeel herd         see on this machine what pacing does for pods that start all at once`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath()))
	})
	root.AddCommand(
		newPlanCommand(streams),
		newDescheduleCommand(streams),
		newSnapshotCommand(streams),
		newPolicyCommand(streams),
		newNodesCommand(streams),
		newHerdCommand(streams),
		newWebhookCommand(streams),
		newControllerCommand(streams),
		newVersionCommand(streams),
	)
	return root
}

// noArgs refuses arguments, as a mistake of usage: what is not a flag is most likely a command that does not exist.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError(fmt.Errorf("unknown command or argument %q\nsee '%s --help'", args[0], cmd.CommandPath()))
}

// colorful reports whether w is a terminal that wants colour (https://no-color.org).
func colorful(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}
