package cli

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/snapfile"
)

// measureFor asks what the policy asks Prometheus for, and puts the answers in the header: no object of the cluster holds them.
func measureFor(ctx context.Context, streams Streams, client *kube.Client, policyFile string, h *snapfile.Header) error {
	p, _, err := loadPolicy(streams, policyFile)
	if err != nil {
		return err
	}
	measure := usageOf(client, p)
	if measure == nil {
		return nil
	}
	list, err := client.Read.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	conv := cluster.NewConverter()
	nodes := make([]*cluster.NodeInfo, len(list.Items))
	for i := range list.Items {
		nodes[i] = conv.Node(&list.Items[i])
	}
	usage, err := measure(ctx, conv.Resources, nodes)
	if err != nil {
		return fmt.Errorf("measure usage: %w", err)
	}
	for _, q := range snapfile.QueriesOf(usage.Queries) {
		if q.Failed != "" {
			fmt.Fprintf(streams.Err, "note: the Prometheus query %q: %s; strategies that ask it will not run with this snapshot\n", q.Query, q.Failed)
		}
	}
	h.Queries, h.UsageProblems = snapfile.QueriesOf(usage.Queries), usage.Problems
	return nil
}
