//go:build linux || windows

package cli

import (
	"fmt"
	"io"
	"time"

	"evenkeel.dev/evenkeel/internal/herd"
)

// quietProgress is the time between two lines of progress where lines stay.
const quietProgress = 5 * time.Second

// herdProgress shows how a herd is getting on: one line that changes on a terminal, else a line now and then.
type herdProgress struct {
	w        io.Writer
	terminal bool
	doing    string        // as last said
	next     time.Duration // of the run's time, for a line that stays
}

func newHerdProgress(w io.Writer) *herdProgress { return &herdProgress{w: w, terminal: colorful(w)} }

func (h *herdProgress) show(p herd.Progress) {
	switch {
	case p.Doing != "":
		h.say(p.Run, p.Doing)
	case h.terminal:
		fmt.Fprintf(h.w, "\r\x1b[K%s", progressLine(p))
	case p.Elapsed >= h.next:
		fmt.Fprintln(h.w, progressLine(p))
		h.next = p.Elapsed.Truncate(quietProgress) + quietProgress
	}
}

func (h *herdProgress) say(run, doing string) {
	if run != "" {
		doing = run + ": " + doing
	}
	if doing == h.doing {
		return
	}
	h.doing, h.next = doing, 0
	if h.terminal {
		fmt.Fprintf(h.w, "\r\x1b[K%s", doing)
		return
	}
	fmt.Fprintln(h.w, doing)
}

// end leaves the cursor on an empty line.
func (h *herdProgress) end() {
	if h.terminal {
		fmt.Fprint(h.w, "\r\x1b[K")
	}
}

func progressLine(p herd.Progress) string {
	n := p.Pods
	return fmt.Sprintf("%s: %4.0fs  %d ready, %d starting, %d waiting", p.Run, p.Elapsed.Seconds(),
		n[herd.Ready], n[herd.Plugin]+n[herd.Starting], n[herd.Waiting]+n[herd.Away]+n[herd.BackOff])
}
