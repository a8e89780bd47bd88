package agent

import (
	"bytes"
	"context"
	"os"
	"time"

	"evenkeel.dev/evenkeel/internal/agentconfig"
)

// watchConfig calls changed with each new content of the configuration file that
// is valid, and failed with the problem of one that is not, and with nil when it
// is valid or as it was again.
func watchConfig(ctx context.Context, path, goos string, changed func(agentconfig.Config), failed func(error)) {
	if path == "" {
		return
	}
	last, _ := os.ReadFile(path)
	tick := time.NewTicker(agentconfig.ReloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Equal(data, last) {
			failed(nil)
			continue
		}
		c, err := agentconfig.Load(path, goos)
		failed(err)
		if err == nil {
			last = data
			changed(c)
		}
	}
}
