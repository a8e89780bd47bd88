package cli

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
	"evenkeel.dev/evenkeel/internal/version"
)

// readLiveCluster takes a snapshot of the cluster that the kubeconfig points to, with the measurements that the policy asks for.
func readLiveCluster(ctx context.Context, streams Streams, kubeconfig string, p *policy.Policy, now time.Time) (*cluster.Snapshot, error) {
	client, err := kube.Connection{Kubeconfig: kubeconfig, UserAgent: userAgent()}.Connect()
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(streams.Err, nil))
	usage, err := usageOf(client, p)
	if err != nil {
		return nil, err
	}
	if now.IsZero() {
		now = time.Now()
	}
	lister := &kube.Lister{Client: client, Log: log, Beside: kube.Beside{Usage: usage}}
	return lister.Snapshot(ctx, now)
}

func userAgent() string { return "evenkeel/" + version.String() }

// usageOf returns what measures for the policy; nil when it needs no measurements.
func usageOf(client *kube.Client, p *policy.Policy) (kube.UsageFunc, error) {
	var functions []kube.UsageFunc
	kubernetes := p.KubernetesMetrics
	queries := map[string]bool{}
	for i := range p.Profiles {
		for _, use := range slices.Concat(p.Profiles[i].Deschedule, p.Profiles[i].Balance) {
			args, ok := use.Args.(*strategy.LowNodeUtilizationArgs)
			if !ok {
				continue
			}
			switch args.UsageSource() {
			case strategy.KubernetesMetrics:
				kubernetes = true
			case strategy.PrometheusMetrics:
				queries[args.MetricsUtilization.Prometheus.Query] = true
			}
		}
	}
	if kubernetes {
		functions = append(functions, kube.KubernetesMetrics(client))
	}
	prometheus, err := prometheusUsage(client, p.Prometheus, queries)
	if err != nil {
		return nil, err
	}
	if functions = append(functions, prometheus...); len(functions) == 0 {
		return nil, nil
	}
	return kube.Together(functions...), nil
}

func prometheusUsage(client *kube.Client, p *policy.Prometheus, queries map[string]bool) ([]kube.UsageFunc, error) {
	switch {
	case len(queries) == 0:
		return nil, nil
	case p == nil:
		return nil, errors.New("the policy has a LowNodeUtilization with source Prometheus and no metricsProviders entry that says where that is")
	case len(queries) > 1:
		return nil, errors.New("the policy has several Prometheus queries; one measures all nodes of a cycle")
	}
	source := &kube.Prometheus{URL: p.URL, Token: kube.ServiceAccountToken}
	for q := range queries {
		source.Query = q
	}
	if p.AuthToken != nil {
		source.Token = kube.SecretToken(client, p.AuthToken.SecretReference.Namespace, p.AuthToken.SecretReference.Name)
	}
	return []kube.UsageFunc{source.Usage}, nil
}
