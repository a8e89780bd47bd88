package serve

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"evenkeel.dev/evenkeel/internal/plan"
)

// Metrics are what the program counts: the descheduler's metrics under their own names, deprecated twins included, and ours,
// which begin with evenkeel_. The words for eviction results are the descheduler's in the former, and finer in the latter.
type Metrics struct {
	registry *prometheus.Registry
	resets   []func()

	evicted, evictedOld           *prometheus.CounterVec
	loop, loopOld                 *prometheus.HistogramVec
	strategy, strategyOld         *prometheus.HistogramVec
	outcomes, planned, failures   *prometheus.CounterVec
	refusals, cycles, policyLoads *prometheus.CounterVec
	phases                        *prometheus.HistogramVec
	objects, lastCycle            *prometheus.GaugeVec
}

// Build is what the binary was made from.
type Build struct{ Version, GitBranch, GitCommit string }

// NewMetrics registers all metrics with a registry of their own.
func NewMetrics(b Build) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo(b))

	eviction := []string{"result", "strategy", "profile", "namespace", "node"}
	m.evicted = m.counter("descheduler_pods_evicted_total", "Pods by how their eviction ended.", eviction...)
	m.evictedOld = m.counter("descheduler_pods_evicted", "(Deprecated: descheduler_pods_evicted_total) Pods by how their eviction ended.", eviction...)
	long := []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500}
	m.loop = m.histogram("descheduler_loop_duration_seconds", "How long cycles took.", long)
	m.loopOld = m.histogram("descheduler_descheduler_loop_duration_seconds", "(Deprecated: descheduler_loop_duration_seconds) How long cycles took.", long)
	m.strategy = m.histogram("descheduler_strategy_duration_seconds", "How long each strategy took.", long[:13], "strategy", "profile")
	m.strategyOld = m.histogram("descheduler_descheduler_strategy_duration_seconds", "(Deprecated: descheduler_strategy_duration_seconds) How long each strategy took.", long[:13], "strategy", "profile")

	m.outcomes = m.counter("evenkeel_evictions_total", "Evictions that were asked for, by how they ended: success, blocked, gone, forbidden, error, background, skipped.", "result", "strategy", "profile")
	m.planned = m.counter("evenkeel_planned_moves_total", "Moves that were planned.", "strategy", "profile")
	m.failures = m.counter("evenkeel_strategy_failures_total", "Cycles in which a strategy could not run, for example for want of measurements.", "strategy", "profile")
	m.refusals = m.counter("evenkeel_refusals_total", "Moves that were wanted and refused, by gate.", "gate")
	m.cycles = m.counter("evenkeel_cycles_total", "Cycles by result: ok, error.", "result")
	m.policyLoads = m.counter("evenkeel_policy_loads_total", "Times that the policy file was read, by result: ok, error.", "result")
	m.phases = m.histogram("evenkeel_cycle_phase_duration_seconds", "How long the phases of cycles took: snapshot, plan, execute.", long, "phase")
	m.objects = m.gauge("evenkeel_snapshot_objects", "Objects in the last snapshot.", "kind")
	m.lastCycle = m.gauge("evenkeel_last_cycle_timestamp_seconds", "When the last cycle of that result ended.", "result")
	return m
}

// Handler serves the metrics to GET, and sets them back to nothing on DELETE, as the descheduler does.
func (m *Metrics) Handler() http.Handler {
	get := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete {
			get.ServeHTTP(w, r)
			return
		}
		for _, reset := range m.resets {
			reset()
		}
		_, _ = w.Write([]byte("metrics reset\n"))
	})
}

// Gatherer is for tests and for pushing.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Planned counts a plan. The results of refusals by limits are the descheduler's error texts.
func (m *Metrics) Planned(p *plan.Plan) {
	m.objects.WithLabelValues("nodes").Set(float64(p.Summary.Nodes))
	m.objects.WithLabelValues("pods").Set(float64(p.Summary.Pods))
	for _, move := range p.Moves {
		m.planned.WithLabelValues(move.Strategy, move.Profile).Inc()
	}
	for _, r := range p.Refusals {
		if text, ok := limitText(r.Reason.Code); ok {
			m.evicted.WithLabelValues(text, r.Strategy, r.Profile, r.Pod.Namespace, r.Node).Inc()
			m.evictedOld.WithLabelValues(text, r.Strategy, r.Profile, r.Pod.Namespace, r.Node).Inc()
		}
	}
	for _, s := range p.Summary.ByStrategy {
		failures := m.failures.WithLabelValues(s.Strategy, s.Profile) // there from the start, so that a rate can be told
		if s.Error != "" {
			failures.Inc()
		}
	}
	for _, g := range p.Summary.ByGate {
		m.refusals.WithLabelValues(g.Gate).Add(float64(g.Refusals))
	}
}

func limitText(code string) (string, bool) {
	switch code {
	case "CycleLimit":
		return "maximum number of evicted pods per a descheduling cycle reached", true
	case "NodeLimit":
		return "maximum number of evicted pods per node reached", true
	case "NamespaceLimit":
		return "maximum number of evicted pods per namespace reached", true
	}
	return "", false
}

// Outcome counts an eviction.
func (m *Metrics) Outcome(o plan.Outcome) {
	m.outcomes.WithLabelValues(string(o.Result), o.Move.Strategy, o.Move.Profile).Inc()
	var result string
	switch o.Result {
	case plan.Skipped:
		return
	case plan.Evicted, plan.Background:
		result = string(o.Result)
	default:
		result = string(plan.Failed)
	}
	m.evicted.WithLabelValues(result, o.Move.Strategy, o.Move.Profile, o.Move.Pod.Namespace, o.Move.Node).Inc()
	m.evictedOld.WithLabelValues(result, o.Move.Strategy, o.Move.Profile, o.Move.Pod.Namespace, o.Move.Node).Inc()
}

// Cycle notes that a cycle ended.
func (m *Metrics) Cycle(took time.Duration, now time.Time, err error) {
	m.loop.WithLabelValues().Observe(took.Seconds())
	m.loopOld.WithLabelValues().Observe(took.Seconds())
	m.cycles.WithLabelValues(result(err)).Inc()
	m.lastCycle.WithLabelValues(result(err)).Set(float64(now.UnixMilli()) / 1000)
}

// Phase notes how long a part of a cycle took: "snapshot", "plan" or "execute".
func (m *Metrics) Phase(name string, took time.Duration) {
	m.phases.WithLabelValues(name).Observe(took.Seconds())
}

// Strategy notes how long a strategy took.
func (m *Metrics) Strategy(profile, strategy string, took time.Duration) {
	m.strategy.WithLabelValues(strategy, profile).Observe(took.Seconds())
	m.strategyOld.WithLabelValues(strategy, profile).Observe(took.Seconds())
}

// PolicyLoaded notes that the policy file was read, or that it could not be used.
func (m *Metrics) PolicyLoaded(err error) { m.policyLoads.WithLabelValues(result(err)).Inc() }

func result(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.add(v, v.Reset)
	return v
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.add(v, v.Reset)
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.add(v, v.Reset)
	return v
}

func (m *Metrics) add(c prometheus.Collector, reset func()) {
	m.registry.MustRegister(c)
	m.resets = append(m.resets, reset)
}

// buildInfo is always 1; what it tells is in its labels.
func buildInfo(b Build) prometheus.Collector {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && b.GitCommit == "" {
				b.GitCommit = s.Value
			}
		}
	}
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "descheduler_build_info",
		Help: "What the binary was built from.",
		ConstLabels: prometheus.Labels{
			"GoVersion": runtime.Version(), "AppVersion": b.Version, "DeschedulerVersion": b.Version,
			"GitBranch": b.GitBranch, "GitSha1": b.GitCommit,
		},
	})
	g.Set(1)
	return g
}
