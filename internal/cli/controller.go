package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/admission"
	"evenkeel.dev/evenkeel/internal/backstop"
	"evenkeel.dev/evenkeel/internal/controller"
	"evenkeel.dev/evenkeel/internal/kube"
)

const controllerHelp = `Controller takes the bootstrap taint away from nodes whose agent has not done so within a grace time, and says so in an
Event on the node, so that a broken agent never strands a node. It also writes the status of every PacePolicy: how many nodes it
selects and holds on, and which others it conflicts with. It is optional. Of its replicas the one with the lease acts.

Exit status: 0 told to stop; 1 no cluster, leader lease lost; 2 bad usage.`

// controllerFlags are the command's flags.
type controllerFlags struct {
	kubeconfig string
	taint      admission.Taint
	grace      time.Duration
	election   controller.Election
}

func newControllerCommand(streams Streams) *cobra.Command {
	flags := controllerFlags{taint: admission.Default()}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Take the bootstrap taint away where the agent does not, and report on PacePolicies",
		Long:  controllerHelp,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.grace < time.Second {
				return usageError(fmt.Errorf("--grace %s: want at least 1s", flags.grace))
			}
			return flags.run(cmd.Context(), streams)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.kubeconfig, "kubeconfig", "", "kubeconfig file; default: the pod's service account, else kubectl's")
	f.Var(&flags.taint, "taint", "the taint, KEY[=VALUE]:EFFECT")
	f.DurationVar(&flags.grace, "grace", 15*time.Minute, "how long the agent has, from the node's creation or from when the taint appears")
	f.StringVar(&flags.election.Namespace, "leader-elect-resource-namespace", podNamespace(), "namespace of the lease")
	f.StringVar(&flags.election.Name, "leader-elect-resource-name", "evenkeel-controller", "name of the lease")
	f.DurationVar(&flags.election.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long others wait for a leader that is silent")
	f.DurationVar(&flags.election.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long a leader tries to renew before it gives up")
	f.DurationVar(&flags.election.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "pause between tries")
	return cmd
}

func (f *controllerFlags) run(ctx context.Context, streams Streams) error {
	log := slog.New(slog.NewTextHandler(streams.Err, nil))
	client, err := kube.Connection{Kubeconfig: f.kubeconfig, UserAgent: userAgent()}.Connect()
	if err != nil {
		return err
	}
	b := &backstop.Backstop{Client: client.Read, Taint: f.taint, Grace: f.grace, Log: log}
	reporter, err := newPolicyReporter(client, log)
	if err != nil {
		return err
	}
	err = f.election.Lead(ctx, client.Read, log, together(b.Run, reporter.Run))
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}
