package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsapi "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"evenkeel.dev/evenkeel/internal/cluster"
)

const usageTimeout = time.Minute

// KubernetesMetrics reads the metrics.k8s.io API: one list of nodes, one of pods. When a list can't be had, that is a problem of
// the usage and not an error: strategies that do not need it go on.
func KubernetesMetrics(client *Client) UsageFunc {
	return func(ctx context.Context, resources *cluster.Resources, nodes []*cluster.NodeInfo) (cluster.Usage, error) {
		ctx, cancel := context.WithTimeout(ctx, usageTimeout)
		defer cancel()
		var usage cluster.Usage
		api, err := metrics.NewForConfig(client.Config)
		if err != nil {
			return usage, fmt.Errorf("KubernetesMetrics: %w", err)
		}
		measured, err := api.NodeMetricses().List(ctx, metav1.ListOptions{})
		if err != nil {
			usage.Problems = append(usage.Problems, metricsProblem("nodes", err))
			return usage, nil
		}
		usage.Nodes = nodeUsage(resources, measured.Items)
		usage.Problems = append(usage.Problems, unmeasured(nodes, usage.Nodes)...)

		pods, err := api.PodMetricses(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			usage.Problems = append(usage.Problems, metricsProblem("pods", err))
			return usage, nil
		}
		usage.Pods = podUsage(resources, pods.Items)
		usage.Problems = append(usage.Problems, unmeasuredPods(pods.Items, usage.Pods)...)
		return usage, nil
	}
}

func metricsProblem(what string, err error) string {
	return fmt.Sprintf("KubernetesMetrics: list %s.metrics.k8s.io: %v; is metrics-server installed, and are the verbs get and list granted?", what, err)
}

func nodeUsage(resources *cluster.Resources, items []metricsapi.NodeMetrics) map[string]cluster.Amounts {
	usage := make(map[string]cluster.Amounts, len(items))
	for i := range items {
		usage[items[i].Name] = resources.Measured(items[i].Usage)
	}
	return usage
}

func podUsage(resources *cluster.Resources, items []metricsapi.PodMetrics) map[string]cluster.Amounts {
	usage := make(map[string]cluster.Amounts, len(items))
	for i := range items {
		if len(items[i].Containers) == 0 {
			continue // nothing was measured; zero would be a measurement
		}
		lists := make([]corev1.ResourceList, len(items[i].Containers))
		for j := range lists {
			lists[j] = items[i].Containers[j].Usage
		}
		usage[items[i].Namespace+"/"+items[i].Name] = resources.Measured(lists...)
	}
	return usage
}

// whole reports whether cpu and memory were measured.
func whole(a cluster.Amounts) bool {
	return a.Get(cluster.CPU) >= 0 && a.Get(cluster.Memory) >= 0
}

// unmeasured says how many nodes were not measured, and names one.
func unmeasured(nodes []*cluster.NodeInfo, usage map[string]cluster.Amounts) []string {
	var missing, part affected
	for _, n := range nodes {
		switch a, ok := usage[n.Name]; {
		case !ok:
			missing.add(n.Name, "there is no measurement of node "+n.Name)
		case !whole(a):
			part.add(n.Name, "the measurement of node "+n.Name+" lacks cpu or memory, or is negative")
		}
	}
	const source = "KubernetesMetrics"
	return slices.Concat(missing.problem(source, len(nodes)), part.problem(source, len(nodes)))
}

// unmeasuredPods says of how many pods the measurement is none.
func unmeasuredPods(items []metricsapi.PodMetrics, usage map[string]cluster.Amounts) []string {
	const source = "KubernetesMetrics"
	if len(items) == 0 {
		return []string{source + ": there is no measurement of any pod, so none is moved because of what it uses"}
	}
	bad := 0
	for i := range items {
		if a, ok := usage[items[i].Namespace+"/"+items[i].Name]; !ok || !whole(a) {
			bad++
		}
	}
	if bad == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: the measurements of %d of %d pods lack cpu or memory, or are negative; these pods are not moved because of what they use", source, bad, len(items))}
}

// affected are nodes with the same problem. It is told once, of the first of them by name: a large cluster would have thousands.
type affected struct {
	nodes       int
	first, text string
}

func (a *affected) add(node, text string) {
	if a.nodes++; a.nodes == 1 || node < a.first {
		a.first, a.text = node, text
	}
}

// problem is none or one.
func (a *affected) problem(source string, of int) []string {
	switch a.nodes {
	case 0:
		return nil
	case 1:
		return []string{source + ": " + a.text}
	default:
		return []string{fmt.Sprintf("%s: %d of %d nodes, the first: %s", source, a.nodes, of, a.text)}
	}
}

// Together measures with several functions. What one of them found does not replace what another found.
func Together(functions ...UsageFunc) UsageFunc {
	return func(ctx context.Context, resources *cluster.Resources, nodes []*cluster.NodeInfo) (cluster.Usage, error) {
		var all cluster.Usage
		for _, f := range functions {
			u, err := f(ctx, resources, nodes)
			if err != nil {
				return all, err
			}
			if u.Nodes != nil {
				all.Nodes = u.Nodes
			}
			if u.Pods != nil {
				all.Pods = u.Pods
			}
			if u.Queries != nil {
				all.Queries = u.Queries
			}
			all.Problems = append(all.Problems, u.Problems...)
		}
		return all, nil
	}
}
