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
	p, err := loadPolicy(streams, policyFile)
	if err != nil {
		return err
	}
	measure, err := usageOf(client, p)
	if err != nil || measure == nil {
		return err
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
	h.QueryUsage, h.UsageProblems = usage.Query, usage.Problems
	return nil
}
