package agent

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/internal/pace"
)

// metrics are what the agent counts. Every name begins with evenkeel_pace_.
type metrics struct {
	waiting, present, overdue, starting, lockHolders, limit prometheus.Gauge
	ready, installed, trouble                               prometheus.Gauge
	grants, refusals, releases, events, adoptions, repairs  *prometheus.CounterVec
	wait, plugin, held                                      prometheus.Histogram
	pluginFailures, turns, hangs                            prometheus.Counter
}

// longBuckets reach to 300 s, beyond the 240 s after which a runtime gives up.
func longBuckets() []float64 {
	return []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300}
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "evenkeel_pace_" + name, Help: help})
	}
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_pace_" + name, Help: help}, []string{label})
	}
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "evenkeel_pace_" + name, Help: help, Buckets: longBuckets()})
	}
	m := &metrics{
		waiting:     gauge("waiting_pods", "Pods that wait for their turn to start, connected or between two attempts."),
		present:     gauge("waiting_connections", "Waiting pods of which an attempt is connected now."),
		overdue:     gauge("overdue_pods", "Waiting pods that have waited maxWait and are at the head of the queue for that."),
		starting:    gauge("starting_pods", "Pods that hold a start slot."),
		lockHolders: gauge("lock_holders", "Plugins that run under a lock file, without the agent's leave."),
		limit:       gauge("limit_pods", "How many pods may be starting at once now."),
		ready:       gauge("ready", "1 while the stand-in is installed and answers, the socket listens and the pods are known."),
		installed:   gauge("installed", "1 while the stand-in is in the plugin's place."),
		trouble:     gauge("problems", "How many problems the status names now."),
		grants:      counter("grants_total", "Starts let through, by reason.", "reason"),
		refusals:    counter("refusals_total", "Attempts told to try again later, by reason.", "reason"),
		releases:    counter("releases_total", "Start slots that ended, by reason.", "reason"),
		events:      counter("events_total", "What else happened in the queue, by kind: pods held long or dropped, slots kept, maintenance that ended by itself.", "kind"),
		adoptions:   counter("installs_total", "What installing the stand-in came to.", "action"),
		repairs:     counter("repairs_total", "What the agent found missing or changed and made anew: its socket, the settings of the stand-in.", "what"),
		wait:        histogram("wait_seconds", "Time from a pod's first attempt to its go-ahead."),
		plugin:      histogram("plugin_seconds", "How long the original plugin took for an ADD."),
		held:        histogram("slot_seconds", "How long a pod held its start slot."),
		pluginFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "evenkeel_pace_plugin_failures_total", Help: "ADDs in which the original plugin failed.",
		}),
		hangs: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "evenkeel_pace_hangs_total", Help: "How often the agent did nothing for 3 s or more when it should have: it was stopped, or the node was very busy.",
		}),
		turns: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "evenkeel_pace_turns_total",
			Help: "How often the queue's owner woke up: for every input and timer. It stands still while nothing happens, but for one with each scrape.",
		}),
	}
	for _, kind := range []pace.EventKind{pace.HeldLong, pace.Dropped, pace.SlotKept, pace.MaintenanceEnded} {
		m.events.WithLabelValues(string(kind)) // at 0 from the start, so that the first one is an increase
	}
	for _, what := range []string{"socket", "settings"} {
		m.repairs.WithLabelValues(what)
	}
	for _, c := range []prometheus.Collector{
		m.waiting, m.present, m.overdue, m.events, m.turns, m.hangs, m.starting, m.lockHolders, m.limit, m.ready, m.installed,
		m.trouble, m.grants, m.refusals, m.releases, m.adoptions, m.repairs, m.wait, m.plugin, m.held, m.pluginFailures,
	} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) set(c pace.Counts) {
	m.waiting.Set(float64(c.Waiting))
	m.present.Set(float64(c.Present))
	m.overdue.Set(float64(c.Overdue))
	m.starting.Set(float64(c.Holding))
	m.lockHolders.Set(float64(c.LockHolders))
	m.limit.Set(float64(c.Limit))
}

func (m *metrics) granted(g pace.Grant) {
	m.grants.WithLabelValues(string(g.Why)).Inc()
	if g.Why != pace.SamePod {
		m.wait.Observe(g.Waited.Seconds())
	}
}

func (m *metrics) refused(r pace.Refusal) { m.refusals.WithLabelValues(string(r.Reason)).Inc() }

func (m *metrics) happened(e pace.Event) {
	if e.Kind != pace.Released {
		m.events.WithLabelValues(string(e.Kind)).Inc()
		return
	}
	m.releases.WithLabelValues(string(e.Why)).Inc()
	m.held.Observe(e.For.Seconds())
}

func (m *metrics) pluginDone(took time.Duration, exit int) {
	m.plugin.Observe(took.Seconds())
	if exit != 0 {
		m.pluginFailures.Inc()
	}
}

func setBool(g prometheus.Gauge, on bool) {
	g.Set(0)
	if on {
		g.Set(1)
	}
}
