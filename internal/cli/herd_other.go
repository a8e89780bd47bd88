//go:build !linux && !windows

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func newHerdCommand(Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "herd",
		Short: "See on this machine what pacing does for pods that start all at once (Linux and Windows)",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("the node side of evenkeel runs on Linux and Windows only, and so does its demonstration")
		},
	}
}

func runHerdProcess(context.Context) (code int, is bool) { return 0, false }
