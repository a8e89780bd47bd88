package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/install"
	build "evenkeel.dev/evenkeel/internal/version"
)

// Streams are where a command writes.
type Streams struct{ Out, Err io.Writer }

// Exit codes of the program.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

const usage = `evenkeel-agent lets a node start pods at a pace it can take.

Usage:
  evenkeel-agent run        serve the stand-ins of this node
  evenkeel-agent install    put the stand-in in the place of the node's CNI plugin
  evenkeel-agent uninstall  put the plugin back and leave nothing behind
  evenkeel-agent status     show what is installed, who waits and what is wrong
  evenkeel-agent version    show the version

Each command explains its flags with -h.
`

type command func(ctx context.Context, s Streams, args []string) error

func commands(name string) (command, bool) {
	c, ok := map[string]command{
		"run":       cmdRun,
		"install":   cmdInstall,
		"uninstall": cmdUninstall,
		"status":    cmdStatus,
		"version":   cmdVersion,
	}[name]
	return c, ok
}

// Run is the program evenkeel-agent; it returns the exit code: 1 for what went
// wrong, 2 for arguments that make no sense.
func Run(ctx context.Context, s Streams, args []string) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(s.Out, usage)
		return exitOK
	}
	run, ok := commands(args[0])
	if !ok {
		fmt.Fprintf(s.Err, "evenkeel-agent: unknown command %q\n\n%s", args[0], usage)
		return exitUsage
	}
	err := run(ctx, s, args[1:])
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage):
		fmt.Fprintf(s.Err, "evenkeel-agent %s: %v\n", args[0], err)
		return exitUsage
	default:
		fmt.Fprintf(s.Err, "evenkeel-agent %s: %v\n", args[0], err)
		return exitFailure
	}
}

// errUsage marks arguments that make no sense.
var errUsage = errors.New("see -h")

// parse reads flags; anything after them is a mistake.
func parse(set *flag.FlagSet, s Streams, args []string) error {
	set.SetOutput(s.Err)
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; %w", set.Arg(0), errUsage)
	}
	return nil
}

func cmdVersion(_ context.Context, s Streams, args []string) error {
	if err := parse(flag.NewFlagSet("evenkeel-agent version", flag.ContinueOnError), s, args); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "evenkeel-agent %s %s/%s\n", version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

func version() string { return build.String() }

// installFlags say which plugin is meant.
type installFlags struct {
	config     string
	binDir     string
	plugin     string
	executable string
	output     string
}

func (f *installFlags) register(set *flag.FlagSet) {
	set.StringVar(&f.config, "config", "", "configuration `FILE` that names the plugin where the flags do not")
	set.StringVar(&f.binDir, "bin-dir", "", "`DIR` in which the container runtime looks for plugins")
	set.StringVar(&f.plugin, "plugin", "", "base name `FILE` of the plugin")
	set.StringVar(&f.output, "o", "text", "output `FORMAT`: text (or table), or json")
}

func (f *installFlags) checkOutput() error {
	if !slices.Contains([]string{"text", "table", "json"}, f.output) {
		return fmt.Errorf("output format %q: want text, table or json; %w", f.output, errUsage)
	}
	return nil
}

// installer is the installer that the flags and the configuration file name.
func (f *installFlags) installer() (install.Installer, agentconfig.Config, error) {
	if err := f.checkOutput(); err != nil {
		return install.Installer{}, agentconfig.Config{}, err
	}
	conf, err := agentconfig.Load(f.config, runtime.GOOS)
	if err != nil {
		return install.Installer{}, conf, err
	}
	for _, o := range []struct {
		flag string
		into *string
	}{{f.binDir, &conf.Install.BinDir}, {f.plugin, &conf.Install.Plugin}, {f.executable, &conf.Install.Executable}} {
		if o.flag != "" {
			*o.into = o.flag
		}
	}
	i, err := newInstaller(conf.Install)
	return i, conf, err
}

func newInstaller(c agentconfig.Install) (install.Installer, error) {
	i := install.Installer{
		Target:     install.Target{BinDir: c.BinDir, Plugin: c.Plugin, SubDir: cni.OriginalDir},
		Executable: c.Executable,
		Disk:       install.Disk{},
		Idle:       install.IdleWait,
	}
	if err := i.Target.Validate(); err != nil {
		return i, err
	}
	if i.Executable == "" {
		own, err := os.Executable()
		if err != nil {
			return i, fmt.Errorf("find the stand-in beside this program: %w", err)
		}
		i.Executable = filepath.Join(filepath.Dir(own), "evenkeel-cni")
		if runtime.GOOS == "windows" {
			i.Executable += ".exe"
		}
	}
	return i, nil
}
