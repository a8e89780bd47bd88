package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Commands that are being built: whoever adds the real one takes its placeholder out.

func newDescheduleCommand(Streams) *cobra.Command { return &cobra.Command{Use: "deschedule"} }
func newDescheduler(Streams) *cobra.Command       { return &cobra.Command{Use: "descheduler"} }

func readLiveCluster(context.Context, Streams, string, *policy.Policy, time.Time) (*cluster.Snapshot, error) {
	return nil, errors.New("live clusters can't be read yet")
}
