package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/examples"
	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/report"
)

type planFlags struct {
	snapshots  []string
	policyFile string
	now        string
	compat     string
	output     string
	why        string
	maxMoves   int
	enable     []string
	live       connection
}

func newPlanCommand(streams Streams) *cobra.Command {
	f := &planFlags{maxMoves: -1}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what would move, and why",
		Long: `Plan runs one cycle of a DeschedulerPolicy and shows what it would move, what it would not, and why. It changes nothing.

The cluster comes from files (--snapshot, see 'evenkeel snapshot'; whatever 'kubectl get … -o yaml|json' prints will do) or, without
--snapshot, from the cluster that the kubeconfig points to.

Exit status: 0 the plan was made, 1 bad policy or input, no permission, no API, 2 bad usage, 3 more moves than --max-moves.`,
		Example: `  evenkeel plan --snapshot examples/snapshots/node-joined.yaml --policy-config-file examples/policies/even-replicas.yaml
  kubectl get nodes,pods,pdb -A -o json | evenkeel plan --snapshot - --policy-config-file policy.yaml -o json
  evenkeel plan --policy-config-file policy.yaml -o html >plan.html
  evenkeel plan --policy-config-file policy.yaml --why shop/web-7d9c5b8f6-x2k4q`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPlan(cmd.Context(), streams, f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.snapshots, "snapshot", nil, "snapshot `FILE` or directory, '-' for standard input; may be repeated")
	flags.StringVar(&f.policyFile, "policy-config-file", "", "DeschedulerPolicy `FILE`, '-' for standard input; without it: RemoveDuplicates, system-critical and local-storage pods included")
	flags.StringVar(&f.now, "now", "", "`TIME` (RFC 3339) to plan for, instead of when the snapshot was taken")
	flags.StringVar(&f.compat, "compat", "", "'descheduler': make exactly the moves of the Kubernetes descheduler")
	flags.StringSliceVar(&f.enable, "enable", nil, engine.ExtrasHelp())
	flags.StringVarP(&f.output, "output", "o", string(report.Table), "output `FORMAT`: "+strings.Join(report.Formats(), ", "))
	flags.StringVar(&f.why, "why", "", "tell the whole story of one pod, `NAMESPACE/POD`")
	flags.IntVar(&f.maxMoves, "max-moves", f.maxMoves, "fail with exit status 3 when the plan has more moves than `N`; -1: any number")
	f.live.addFlags(flags)
	return cmd
}

func runPlan(ctx context.Context, streams Streams, f *planFlags) error {
	format, err := report.ParseFormat(f.output)
	if err != nil {
		return usageError(fmt.Errorf("--output: %w", err))
	}
	opts, err := f.options()
	if err != nil {
		return usageError(err)
	}
	now, err := f.time()
	if err != nil {
		return usageError(err)
	}
	p, warnings, err := loadPolicy(streams, f.policyFile)
	if err != nil {
		return err
	}
	s, err := readCluster(ctx, streams, f, p, now)
	if err != nil {
		return err
	}
	if opts.Why.Name != "" && s.Pod(opts.Why.Namespace, opts.Why.Name) == nil {
		return fmt.Errorf("--why %s: there is no such pod%s", f.why, nearPods(s, opts.Why))
	}
	out, err := engine.Plan(s, p, opts)
	if err != nil {
		return fmt.Errorf("%s: %w", policyName(f.policyFile), err)
	}
	how := report.Options{Format: format, Color: colorful(streams.Out), Policy: policyName(f.policyFile)}
	for _, w := range warnings {
		how.Warnings = append(how.Warnings, w.String())
	}
	if err := report.Write(streams.Out, out, s, how); err != nil {
		return err
	}
	if f.maxMoves >= 0 && len(out.Moves) > f.maxMoves {
		return &exitError{ExitTooMany, fmt.Errorf("the plan has %s, more than --max-moves %d", report.Count(len(out.Moves), "move"), f.maxMoves)}
	}
	return nil
}

func (f *planFlags) options() (engine.Options, error) {
	var o engine.Options
	switch f.compat {
	case "":
	case "descheduler":
		o.Compat = true
	default:
		return o, fmt.Errorf("--compat %q: the only value is 'descheduler'", f.compat)
	}
	extras, err := engine.ParseExtras(f.enable)
	if err != nil {
		return o, fmt.Errorf("--enable: %w", err)
	}
	o.Extras = extras
	if f.maxMoves < -1 {
		return o, fmt.Errorf("--max-moves %d: expected a number of moves, or -1 for any", f.maxMoves)
	}
	if f.why != "" {
		namespace, name, ok := strings.Cut(f.why, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return o, fmt.Errorf("--why %q: expected NAMESPACE/POD", f.why)
		}
		o.Why = plan.PodRef{Namespace: namespace, Name: name}
	}
	return o, nil
}

// time is the time to plan for; zero: that of the snapshot.
func (f *planFlags) time() (time.Time, error) {
	if f.now == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, f.now)
	if err != nil {
		return t, fmt.Errorf("--now %q: expected a time such as 2026-11-30T12:00:00Z", f.now)
	}
	return t, nil
}

// loadPolicy reads a policy, the built-in one when no file is named, and prints its warnings, which it also returns.
func loadPolicy(streams Streams, file string) (*policy.Policy, []policy.Warning, error) {
	name, data := policyName(file), []byte(examples.EvenReplicas)
	if file != "" {
		var err error
		if data, err = readPolicyFile(streams.In, file); err != nil {
			return nil, nil, fmt.Errorf("read the policy: %w", err)
		}
	}
	p, warnings, err := policy.Load(name, data)
	for _, w := range warnings {
		fmt.Fprintf(streams.Err, "warning: %s: %s\n", name, w)
	}
	return p, warnings, err
}

// policyName is how messages call the policy.
func policyName(file string) string {
	switch file {
	case "":
		return "built-in policy"
	case "-":
		return "standard input"
	}
	return file
}

// readCluster takes the snapshot from files or from the live cluster.
func readCluster(ctx context.Context, streams Streams, f *planFlags, p *policy.Policy, now time.Time) (*cluster.Snapshot, error) {
	if len(f.snapshots) > 0 {
		return readSnapshotFiles(streams, f.snapshots, now)
	}
	return readLiveCluster(ctx, streams, &f.live, p, now)
}
