package pace

import "time"

const (
	// backOff is what is left of the adaptive limit after trouble, and cutPause the time before trouble counts again:
	// the plugins already running when the limit falls must not make it fall once each.
	backOff  = 0.7
	cutPause = 10 * time.Second
	// usualDrift is how much of itself the usual duration gains with each slower plugin run, so that one lucky run does
	// not make all later ones look slow for ever.
	usualDrift = 0.005
)

// aimd is the concurrency limit: fixed, or rising by addition and falling by multiplication.
type aimd struct {
	fixed      int
	adaptive   *Adaptive // nil: the limit is fixed
	current    float64
	usual      time.Duration // how long the plugin takes at its best
	short      bool          // the last sample was bad
	shortUntil instant
	cutEnd     instant // trouble counts again
}

func (m *aimd) configure(limits Limits, cores int) {
	was := m.adaptive
	m.fixed, m.adaptive = limits.static(cores), limits.Adaptive
	if m.adaptive == nil {
		return
	}
	if was == nil {
		m.current = float64(m.fixed)
	}
	m.current = min(m.current, float64(m.adaptive.Max))
}

func (m *aimd) limit() int {
	if m.adaptive == nil {
		return m.fixed
	}
	return max(1, int(m.current))
}

// observe judges one run of the plugin. The limit rises only while pods wait for it.
func (m *aimd) observe(t instant, took time.Duration, ok, waiting bool) {
	if m.adaptive == nil {
		return
	}
	slow := ok && m.usual > 0 && took > m.adaptive.SlowFloor.Std() &&
		float64(took) > m.adaptive.SlowFactor*float64(m.usual)
	if ok {
		m.learn(took)
	}
	switch {
	case !ok || slow:
		m.cut(t)
	case waiting && !(m.short && t < m.shortUntil):
		m.current = min(m.current+1/m.current, float64(m.adaptive.Max))
	}
}

func (m *aimd) learn(took time.Duration) {
	if m.usual == 0 || took < m.usual {
		m.usual = took
		return
	}
	m.usual += time.Duration(usualDrift * float64(m.usual))
}

func (m *aimd) cut(t instant) {
	if m.adaptive == nil || t < m.cutEnd {
		return
	}
	m.current = max(1, m.current*backOff)
	m.cutEnd = t + cutPause
}
