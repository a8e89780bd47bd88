package cni

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"evenkeel.dev/evenkeel/internal/sock"
)

// OriginalDir is the sub-folder beside the stand-in that holds the original
// and everything of ours.
const OriginalDir = "evenkeel"

// GuardVariable is the one environment variable that we add: how many
// stand-ins deep the callee runs. A plugin that calls another one passes it on,
// and that one, should it be a stand-in too, does not wait a second time.
const GuardVariable = "EVENKEEL_CNI_DEPTH"

// maxDepth ends a chain of stand-ins that call each other for ever.
const maxDepth = 8

// Host is what the program sees of the machine; System is the real one.
type Host struct {
	Args       []string // argv, with the name under which we were called
	Getenv     func(name string) string
	Executable func() (string, error) // our own file, links resolved
	Stdin      io.Reader              // read only when the original will not run
	Stdout     io.Writer
	Dial       func(path string, until time.Time) (sock.Conn, error)
	Exec       Exec
	Uptime     func() (time.Duration, error) // of the machine
	CPUs       int
}

// Exec runs the original at path with our arguments, working directory,
// environment and streams, and GuardVariable set to depth.
type Exec interface {
	// Replace makes this process the original. It returns only to fail, with
	// errors.ErrUnsupported where the system has no such thing.
	Replace(path, depth string) error
	// Run waits for the original and gives its exit code, 128 + the signal's
	// number where one ended it. The original dies with this process. An error
	// means that it did not start.
	Run(path, depth string) (exit int, err error)
}

// call is one run of the program.
type call struct {
	Host
	original string
	depth    int
}

// Run is the program. It returns the exit code.
func Run(h Host) int {
	c := call{Host: h}
	// A chain of stand-ins says how deep it is; anything else is the first.
	c.depth, _ = strconv.Atoi(h.Getenv(GuardVariable))
	command := h.Getenv("CNI_COMMAND")
	if command == PingCommand && c.depth == 0 {
		return c.ping()
	}
	var err error
	uninstalled := false
	if c.original, err = patiently(func() (string, error) { return findOriginal(h.Args, h.Executable) }); err != nil {
		if own, ownErr := h.Executable(); ownErr == nil {
			c.original, uninstalled = restored(originals(h.Args, own)...)
		}
	}
	if err != nil && !uninstalled {
		return c.fail(problem{err: err})
	}
	if c.depth >= maxDepth {
		return c.fail(problem{err: errTooDeep})
	}
	if command == "ADD" && c.depth == 0 && !uninstalled {
		if pod, ok := parsePod(h.Getenv("CNI_ARGS")); ok {
			return c.gated(pod)
		}
	}
	return c.passThrough()
}

var errTooDeep = errors.New("stand-ins call each other without end: the plugin in the folder " + OriginalDir + " is not the original")

// passThrough runs the original and adds nothing.
func (c *call) passThrough() int {
	_, err := patiently(func() (struct{}, error) {
		err := c.Exec.Replace(c.original, c.nextDepth())
		if c.moved(err) {
			err = c.Exec.Replace(c.original, c.nextDepth())
		}
		return struct{}{}, err
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return c.runOriginal()
	}
	return c.fail(problem{err: err, original: c.original})
}

// runOriginal runs the original as a child.
func (c *call) runOriginal() int {
	exit, err := patiently(func() (int, error) {
		exit, err := c.Exec.Run(c.original, c.nextDepth())
		if c.moved(err) {
			exit, err = c.Exec.Run(c.original, c.nextDepth())
		}
		return exit, err
	})
	if err != nil {
		return c.fail(problem{err: err, original: c.original})
	}
	return exit
}

// moved reports whether the original could not be started because an uninstaller
// has put it back in its own place, and goes by that place from then on.
func (c *call) moved(err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	plugin, ok := restored(c.original)
	if ok {
		c.original = plugin
	}
	return ok
}

func (c *call) nextDepth() string { return strconv.Itoa(c.depth + 1) }

// gated runs the original once it may run, or says to try again later.
func (c *call) gated(pod Pod) int {
	g := newGate(c, pod)
	p, refused := g.admit()
	if refused != nil {
		g.stamp.keep(time.Now())
		return c.fail(problem{refused: refused})
	}
	g.stamp.forget()
	if p == (pass{}) {
		return c.passThrough()
	}
	end := g.follow(p)
	start := time.Now()
	exit := c.runOriginal()
	end(time.Since(start), exit)
	return exit
}

// Patience with a file that is being replaced at this very moment.
const (
	swapTime  = time.Second
	swapPause = 20 * time.Millisecond
)

// patiently repeats try while it fails as it does when an installer replaces
// the original, or a writer has not closed it yet, for at most swapTime.
func patiently[T any](try func() (T, error)) (T, error) {
	start := time.Now()
	for {
		v, err := try()
		if err == nil || !beingReplaced(err) || time.Since(start) >= swapTime {
			return v, err
		}
		time.Sleep(swapPause)
	}
}

func beingReplaced(err error) bool { return errors.Is(err, fs.ErrNotExist) || writerAtWork(err) }

// RemoveState removes what stand-ins and WriteSettings stored beside the
// originals in originalDir: the last step of an uninstall. A stand-in that still
// runs goes on without.
func RemoveState(originalDir string) error { return os.RemoveAll(stateDir(originalDir)) }

// stateDir is where everything of ours but the original lies.
func stateDir(originalDir string) string { return filepath.Join(originalDir, gateFolder) }

const gateFolder = "gate"
