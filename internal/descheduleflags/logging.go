package descheduleflags

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"
)

// Logging says what is logged, and how. The flags are those of Kubernetes components.
type Logging struct {
	Verbosity int    // 0: the least. 4 shows what is for finding faults
	VModule   string // pattern=N,…: verbosity by source file, of the Kubernetes libraries
	Format    string // "text" or "json"

	// Accepted, and of no effect: every line is written at once, to one stream.
	flushFrequency time.Duration
	split          [2]bool
	buffer         [2]resource.QuantityValue
}

func newLogging() Logging { return Logging{Format: "text", flushFrequency: 5 * time.Second} }

func (l *Logging) addFlags(fs *pflag.FlagSet) {
	fs.IntVarP(&l.Verbosity, "v", "v", l.Verbosity, "how much to log, 0 to 10")
	fs.StringVar(&l.VModule, "vmodule", l.VModule, "pattern=N,…: how much the Kubernetes libraries log, by source file (text format only)")
	fs.StringVar(&l.Format, "logging-format", l.Format, "format of logs: text or json")
	fs.DurationVar(&l.flushFrequency, "log-flush-frequency", l.flushFrequency, "of no effect: every line is written at once")
	for i, format := range []string{"text", "json"} {
		fs.BoolVar(&l.split[i], "log-"+format+"-split-stream", false, "of no effect: all logs go to standard error")
		fs.Var(&l.buffer[i], "log-"+format+"-info-buffer-size", "of no effect: every line is written at once")
	}
}

func (l *Logging) validate() error {
	switch {
	case l.Format != "text" && l.Format != "json":
		return fmt.Errorf("--logging-format %q: must be text or json", l.Format)
	case l.Verbosity < 0:
		return errors.New("--v: must not be negative")
	case l.Format == "json" && l.VModule != "":
		return errors.New("--vmodule: is for --logging-format=text")
	}
	return nil
}

// Logger returns the logger, and makes the Kubernetes libraries, which have one for the whole process, write to it too.
func (l *Logging) Logger(w io.Writer) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: slog.Level(-l.Verbosity)}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if l.Format == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	log := slog.New(handler)
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	if err := errors.Join(fs.Set("v", strconv.Itoa(l.Verbosity)), fs.Set("vmodule", l.VModule)); err != nil {
		return nil, fmt.Errorf("--v, --vmodule: %w", err)
	}
	klog.SetSlogLogger(log)
	return log, nil
}
