package agent

import (
	"io"
	"log/slog"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"

	"evenkeel.dev/evenkeel/internal/agentconfig"
)

// newLogger gives a logger and what closes it. A log file is rotated here,
// because on Windows nobody else does.
func newLogger(c agentconfig.Log, stderr io.Writer) (*slog.Logger, *slog.LevelVar, func()) {
	level := new(slog.LevelVar)
	setLevel(level, c.Level)
	out, closeLog := stderr, func() {}
	if c.File != "" {
		file := &lumberjack.Logger{Filename: c.File, MaxSize: c.MaxSizeMB, MaxBackups: c.MaxFiles}
		out, closeLog = file, func() { _ = file.Close() }
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: readable}
	if c.Format == "text" {
		return slog.New(slog.NewTextHandler(out, options)), level, closeLog
	}
	return slog.New(slog.NewJSONHandler(out, options)), level, closeLog
}

// setLevel takes a valid level of the configuration.
func setLevel(level *slog.LevelVar, name string) {
	_ = level.UnmarshalText([]byte(name)) // validated with the configuration
}

// readable writes durations for people, also in JSON.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().Round(time.Millisecond).String())
	}
	return a
}
