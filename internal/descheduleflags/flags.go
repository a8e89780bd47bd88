// Package descheduleflags are the flags of 'evenkeel deschedule': those of the Kubernetes descheduler v0.36, with its names and defaults,
// so that its manifests need only another image, and a few of ours.
package descheduleflags

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/component-base/config"
	"k8s.io/component-base/config/options"
	"k8s.io/component-base/featuregate"

	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/serve"
)

// EvictionsInBackground is the feature gate for pods that another controller moves, such as KubeVirt's.
const EvictionsInBackground featuregate.Feature = "EvictionsInBackground"

// Flags are the values of the flags.
type Flags struct {
	PolicyFile     string
	Interval       time.Duration
	DryRun         bool
	DisableMetrics bool
	Connection     Connection
	Serving        *serve.Options
	Election       config.LeaderElectionConfiguration
	Gates          featuregate.MutableFeatureGate
	Logging        Logging
	Tracing        Tracing

	// Compat makes the descheduler's moves everywhere; ours.
	Compat string
	// Enable names what is done beyond the descheduler; see engine.ParseExtras. Ours.
	Enable []string
	// Output prints each cycle's plan in that format; ours. Empty: a table in a dry run, else nothing.
	Output string
}

// Connection says how to reach the API server.
type Connection struct {
	Kubeconfig string
	QPS        float32
	Burst      int32

	old string // --kubeconfig
}

// Tracing says where spans go.
type Tracing struct {
	Endpoint            string // host:port of an OTLP collector over gRPC; empty: no tracing
	CACert              string // file; empty: no TLS
	ServiceName         string
	Namespace           string
	SampleRate          float64
	FallbackNoOpOnError bool
}

// New returns the defaults.
func New() (*Flags, error) {
	gates := featuregate.NewFeatureGate()
	err := gates.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		EvictionsInBackground: {Default: false, PreRelease: featuregate.Alpha},
	})
	if err != nil {
		return nil, fmt.Errorf("feature gates: %w", err)
	}
	f := &Flags{
		Serving: serve.NewOptions(),
		Gates:   gates,
		Logging: newLogging(),
		Tracing: Tracing{ServiceName: "descheduler", SampleRate: 1},
	}
	f.Election.ResourceLock = "leases"
	f.Election.ResourceName = "descheduler"
	f.Election.ResourceNamespace = "kube-system"
	f.Election.LeaseDuration.Duration = 137 * time.Second
	f.Election.RenewDeadline.Duration = 107 * time.Second
	f.Election.RetryPeriod.Duration = 26 * time.Second
	return f, nil
}

// AddFlags binds the flags.
func (f *Flags) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.PolicyFile, "policy-config-file", f.PolicyFile, "DeschedulerPolicy `FILE`; read again when it changes")
	fs.DurationVar(&f.Interval, "descheduling-interval", f.Interval, "time from the start of a cycle to the start of the next; 0: one cycle, and exit")
	fs.BoolVar(&f.DryRun, "dry-run", f.DryRun, "evict nothing; print what would be evicted")
	fs.BoolVar(&f.DisableMetrics, "disable-metrics", f.DisableMetrics, "do not serve /metrics")
	f.Gates.AddFlag(fs)

	c := &f.Connection
	fs.StringVar(&c.Kubeconfig, "client-connection-kubeconfig", c.Kubeconfig, "kubeconfig `FILE`; without it: the pod's service account, KUBECONFIG or ~/.kube/config")
	fs.StringVar(&c.old, "kubeconfig", c.old, "kubeconfig `FILE`")
	_ = fs.MarkDeprecated("kubeconfig", "use --client-connection-kubeconfig") // it fails only for a flag that does not exist
	fs.Float32Var(&c.QPS, "client-connection-qps", c.QPS, "evictions a second; 0: 5")
	fs.Int32Var(&c.Burst, "client-connection-burst", c.Burst, "evictions at once, before the rate takes hold; 0: 10")

	f.Serving.AddFlags(fs)
	options.BindLeaderElectionFlags(&f.Election, fs)
	f.Logging.addFlags(fs)

	t := &f.Tracing
	fs.StringVar(&t.Endpoint, "otel-collector-endpoint", t.Endpoint, "`HOST:PORT` of an OpenTelemetry collector (OTLP over gRPC); empty: no traces")
	fs.StringVar(&t.CACert, "otel-transport-ca-cert", t.CACert, "`FILE` with the CA of the collector; empty: no TLS")
	fs.StringVar(&t.ServiceName, "otel-service-name", t.ServiceName, "service name of the traces")
	fs.StringVar(&t.Namespace, "otel-trace-namespace", t.Namespace, "namespace of the traces")
	fs.Float64Var(&t.SampleRate, "otel-sample-rate", t.SampleRate, "share of traces to send, 0 to 1")
	fs.BoolVar(&t.FallbackNoOpOnError, "otel-fallback-no-op-on-error", t.FallbackNoOpOnError, "go on without traces when the collector can't be set up")

	fs.StringVar(&f.Compat, "compat", f.Compat, "'descheduler': make exactly the moves of the Kubernetes descheduler")
	fs.StringSliceVar(&f.Enable, "enable", f.Enable, engine.ExtrasHelp())
	fs.StringVarP(&f.Output, "output", "o", f.Output, "print each cycle's plan in this `FORMAT`: table, wide, json, yaml, or html for a page of one cycle; default: table in a dry run, else nothing")
}

// Complete checks the flags against each other, all problems at once, and fills in what follows from others.
func (f *Flags) Complete() error {
	var errs []error
	if f.Connection.Kubeconfig == "" {
		f.Connection.Kubeconfig = f.Connection.old
	}
	if f.Interval < 0 {
		errs = append(errs, fmt.Errorf("--descheduling-interval %s: must not be negative", f.Interval))
	}
	if f.Connection.QPS < 0 || f.Connection.Burst < 0 {
		errs = append(errs, errors.New("--client-connection-qps and --client-connection-burst must not be negative"))
	}
	if _, err := engine.ParseExtras(f.Enable); err != nil {
		errs = append(errs, fmt.Errorf("--enable: %w", err))
	}
	if f.Compat != "" && f.Compat != "descheduler" {
		errs = append(errs, fmt.Errorf("--compat %q: the only value is 'descheduler'", f.Compat))
	}
	if f.Tracing.SampleRate < 0 || f.Tracing.SampleRate > 1 {
		errs = append(errs, fmt.Errorf("--otel-sample-rate %g: must be 0 to 1", f.Tracing.SampleRate))
	}
	errs = append(errs, f.Serving.Validate(), f.Logging.validate(), f.validateElection())
	return errors.Join(errs...)
}

func (f *Flags) validateElection() error {
	e := &f.Election
	switch {
	case !e.LeaderElect:
		return nil
	case f.Interval == 0:
		return errors.New("--leader-elect must be used with --descheduling-interval: a single cycle has nobody to take turns with")
	case e.ResourceLock != "leases":
		return fmt.Errorf("--leader-elect-resource-lock %q: the only value is 'leases'", e.ResourceLock)
	case e.ResourceName == "" || e.ResourceNamespace == "":
		return errors.New("--leader-elect-resource-name and --leader-elect-resource-namespace must not be empty")
	case e.RetryPeriod.Duration <= 0 || e.RenewDeadline.Duration <= e.RetryPeriod.Duration*6/5 || e.LeaseDuration.Duration <= e.RenewDeadline.Duration:
		return fmt.Errorf("--leader-elect-lease-duration %s must be more than --leader-elect-renew-deadline %s, and that more than 1.2 times --leader-elect-retry-period %s",
			e.LeaseDuration.Duration, e.RenewDeadline.Duration, e.RetryPeriod.Duration)
	}
	return nil
}
