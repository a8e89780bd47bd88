package cli

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
	"evenkeel.dev/evenkeel/internal/version"
)

// readLiveCluster takes a snapshot of the cluster that the kubeconfig points to, with the measurements that the policy asks for and what starts on the
// nodes.
func readLiveCluster(ctx context.Context, streams Streams, c *connection, p *policy.Policy, now time.Time) (*cluster.Snapshot, error) {
	client, err := c.connect()
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(streams.Err, nil))
	if now.IsZero() {
		now = time.Now()
	}
	lister := &kube.Lister{Client: client, Log: log, Beside: kube.Beside{Usage: usageOf(client, p), Starts: kube.NodePaces(client)}}
	return lister.Snapshot(ctx, now)
}

func userAgent() string { return "evenkeel/" + version.String() }

// usageOf returns what measures for the policy; nil when it needs no measurements.
func usageOf(client *kube.Client, p *policy.Policy) kube.UsageFunc {
	var functions []kube.UsageFunc
	unlisted := false
	var queries []string
	for i := range p.Profiles {
		for _, use := range slices.Concat(p.Profiles[i].Deschedule, p.Profiles[i].Balance) {
			args, ok := use.Args.(*strategy.LowNodeUtilizationArgs)
			if !ok {
				continue
			}
			switch args.UsageSource() {
			case strategy.KubernetesMetrics:
				unlisted = !p.KubernetesMetrics
			case strategy.PrometheusMetrics:
				queries = append(queries, args.Query())
			}
		}
	}
	switch {
	case p.KubernetesMetrics:
		functions = append(functions, kube.KubernetesMetrics(client))
	case unlisted:
		functions = append(functions, notListed)
	}
	if len(queries) > 0 {
		slices.Sort(queries)
		functions = append(functions, prometheusUsage(client, p.Prometheus, slices.Compact(queries)))
	}
	if len(functions) == 0 {
		return nil
	}
	return kube.Together(functions...)
}

func prometheusUsage(client *kube.Client, p *policy.Prometheus, queries []string) kube.UsageFunc {
	if p == nil {
		return nobodyToAsk(queries)
	}
	return (&kube.Prometheus{URL: p.URL, Queries: queries, Token: tokenOf(client, p)}).Usage
}

// tokenOf is the token of the Secret that the policy names, else that of the service account.
func tokenOf(client *kube.Client, p *policy.Prometheus) kube.Token {
	if p.AuthToken == nil {
		return kube.ServiceAccountToken
	}
	return kube.SecretToken(client, p.AuthToken.SecretReference.Namespace, p.AuthToken.SecretReference.Name)
}

// notListed measures nothing: as with the descheduler, the metrics API is read only by a policy that lists it.
func notListed(context.Context, *cluster.Resources, []*cluster.NodeInfo) (cluster.Usage, error) {
	return cluster.Usage{Problems: []string{"KubernetesMetrics: not read, since metricsProviders of the policy does not list it"}}, nil
}

// nobodyToAsk fails each query, and so the strategies that need its answer, and nothing else.
func nobodyToAsk(queries []string) kube.UsageFunc {
	return func(context.Context, *cluster.Resources, []*cluster.NodeInfo) (cluster.Usage, error) {
		usage := cluster.Usage{Queries: map[string]cluster.Answer{}}
		for _, q := range queries {
			usage.Queries[q] = cluster.Answer{Failed: "metricsProviders of the policy names no Prometheus that could be asked"}
		}
		return usage, nil
	}
}
