package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/admission"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/paceobjects"
)

const nodesHelp = `Nodes shows for each node whether it still has the bootstrap taint, whether its agent is ready, how many pods may be
starting at once, how many are starting and waiting for their turn, for how long the first has waited, which PacePolicy holds
(none: the agent's file alone), and how many pods are bound to it and not ended.

What an agent has not reported is "-": no agent runs there, or NodePace is not installed.

Exit status: 0 shown; 1 no cluster or no permission; 2 bad usage.`

// agentSelector selects the pods of agents by the labels of the manifests.
const agentSelector = "app.kubernetes.io/name=evenkeel,app.kubernetes.io/component=agent"

type nodesFlags struct {
	live     connection
	selector string
	taint    admission.Taint
	watch    bool
	output   string
}

func newNodesCommand(streams Streams) *cobra.Command {
	f := &nodesFlags{taint: admission.Default()}
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "Show each node's taint, agent, limit and queue",
		Long:  nodesHelp,
		Example: `  evenkeel nodes
  evenkeel nodes -l kubernetes.io/os=windows --watch
  evenkeel nodes -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), streams) },
	}
	f.live.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "show the nodes with these labels only")
	cmd.Flags().Var(&f.taint, "taint", "the bootstrap taint, KEY[=VALUE]:EFFECT")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "go on and print the nodes that change, until stopped")
	cmd.Flags().StringVarP(&f.output, "output", "o", "table", "output `FORMAT`: table, json (with --watch one object per line)")
	return cmd
}

func (f *nodesFlags) run(ctx context.Context, streams Streams) error {
	if f.output != "table" && f.output != "json" {
		return usageError(fmt.Errorf("--output %q: the formats are table, json", f.output))
	}
	client, err := f.live.connect()
	if err != nil {
		return err
	}
	objects, err := paceobjects.New(client.Config)
	if err != nil {
		return err
	}
	v := &nodesView{flags: f, client: client, paces: objects.Paces}
	now := time.Now()
	rows, notice, err := v.list(ctx, now)
	if err != nil {
		return err
	}
	if notice != "" {
		fmt.Fprintln(streams.Err, "note: "+notice)
	}
	switch {
	case f.watch:
		return v.follow(ctx, streams, rows)
	case f.output == "json":
		e := json.NewEncoder(streams.Out)
		e.SetIndent("", "  ")
		return e.Encode(rows)
	}
	return (&nodeTable{w: streams.Out}).print(rows, now, true)
}

// nodesView reads what the rows are made of.
type nodesView struct {
	flags  *nodesFlags
	client *kube.Client
	paces  *paceobjects.Paces
}

// listTimeout is how long an API server that says nothing is listened to.
const listTimeout = time.Minute

// list reads everything once. The notice says what is left out, and why.
func (v *nodesView) list(ctx context.Context, now time.Time) ([]nodeRow, string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	core := v.client.Read.CoreV1()
	cached := metav1.ListOptions{ResourceVersion: "0"}
	nodes, err := core.Nodes().List(ctx, metav1.ListOptions{LabelSelector: v.flags.selector})
	if err != nil {
		return nil, "", fmt.Errorf("list nodes: %w", err)
	}
	pods, err := core.Pods(metav1.NamespaceAll).List(ctx, cached)
	if err != nil {
		return nil, "", fmt.Errorf("list pods: %w", err)
	}
	paces, err := v.paces.List(ctx, metav1.ListOptions{})
	notice := ""
	switch {
	case apierrors.IsNotFound(err):
		notice = "NodePace is not installed (deploy/kustomize/crds), so queues are not shown"
	case err != nil:
		return nil, "", fmt.Errorf("list nodepaces: %w", err)
	}
	world := nodeWorld{taint: v.flags.taint}
	for i := range nodes.Items {
		world.nodes = append(world.nodes, &nodes.Items[i])
	}
	for i := range pods.Items {
		world.pods = append(world.pods, &pods.Items[i])
	}
	if paces != nil {
		for i := range paces.Items {
			world.paces = append(world.paces, &paces.Items[i])
		}
	}
	return world.rows(now), notice, nil
}

// nodeWorld is what rows are made of.
type nodeWorld struct {
	taint admission.Taint
	nodes []*corev1.Node
	pods  []*corev1.Pod
	paces []*v1alpha1.NodePace
}

// follow prints the rows, and then those that change, until ctx ends.
func (v *nodesView) follow(ctx context.Context, streams Streams, rows []nodeRow) error {
	write := (&nodeTable{w: streams.Out}).print
	if v.flags.output == "json" {
		write = jsonLines(streams.Out)
	}
	if err := write(rows, time.Now(), true); err != nil {
		return err
	}
	err := v.watch(ctx, streams.Err, func(next []nodeRow, now time.Time) error {
		changed := changedRows(rows, next)
		rows = next
		return write(changed, now, false)
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // the way to end it
	}
	return err
}

func jsonLines(w io.Writer) func([]nodeRow, time.Time, bool) error {
	e := json.NewEncoder(w)
	return func(rows []nodeRow, _ time.Time, _ bool) error {
		for _, r := range rows {
			if err := e.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
}
