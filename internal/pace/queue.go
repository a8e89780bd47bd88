package pace

import "time"

const (
	// restartGrace is how long a new queue gives no turns, so that executables can say that they wait or run already;
	// seedGrace how long if Seed does not come by then. A first list of pods may take a while just after a boot; an API
	// server that cannot be reached must not keep pods from starting.
	restartGrace = 5 * time.Second
	seedGrace    = 15 * time.Second
	// classifyWait is how long a pod of unknown class is kept for Classify.
	classifyWait = 2 * time.Second
	// absentDrop is how long a waiting pod may stay away; the kubelet comes back within 18 s.
	absentDrop = 2 * time.Minute
	// ackTimeout is how long a grant may stay unacknowledged.
	ackTimeout = 10 * time.Second
	// hangupGrace is how long a slot waits for a pod whose peer vanished while its original ran.
	hangupGrace = 30 * time.Second
	// passedLimit is how often a pod that is away may be passed over, and keepFor how long a slot is then kept for it.
	passedLimit = 3
	keepFor     = 20 * time.Second
	// backAfter is when a pod whose ADD failed, by us or by the plugin, is due back: the kubelet waits at least 10 s. A
	// slot kept earlier would only idle.
	backAfter = 10 * time.Second
	// maintenanceLimit ends a maintenance that nobody ended.
	maintenanceLimit = 5 * time.Minute
	// maxWaiting is how many pods may be in the line; more are refused at once.
	maxWaiting = 1000
)

// Queue decides which pods of a node may start. It is a state machine: every method takes the time, changes the state
// and returns what to do about it. It is not safe for concurrent use. The package documentation is its manual.
type Queue struct {
	cfg   Config
	cores int
	clock clock
	out   Output // of the input being handled
	seq   uint64

	pods     map[string]*pod        // waiting or holding a slot
	attempts map[AttemptID]*attempt // not yet refused, done or cancelled
	line     line                   // waiting pods
	asking   []*attempt             // unanswered, by latest answer
	alarms   alarms

	present int // waiting pods with an attempt that may be granted
	holding int // slots

	grace       instant // no turns before it
	maintenance bool
	maintainEnd instant
	locks       int // lock holders
	locksEnd    instant

	kept    *pod // the absent pod that a slot is kept for
	keptEnd instant

	refuseAt    instant // nothing is to be refused before it
	lastRefusal instant

	limiter  limiter
	plugin   durations
	pressure pressure
	aimd     aimd
}

// New returns a queue for a node with this many cores. It gives no turns for its first five seconds, nor before Seed,
// but for fifteen at most: in these, Request, Resume, Seed and LockHolders tell it what was going on before. The error is
// of type [Problems].
func New(now time.Time, cfg Config, cores int) (*Queue, error) {
	if problems := cfg.Validate(); len(problems) > 0 {
		return nil, problems
	}
	q := &Queue{
		cores:       cores,
		clock:       clock{last: now},
		pods:        map[string]*pod{},
		attempts:    map[AttemptID]*attempt{},
		line:        line{counts: map[int32]int{}},
		grace:       seedGrace,
		refuseAt:    never,
		lastRefusal: -time.Hour,
	}
	q.configure(0, cfg)
	return q, nil
}

// SetConfig changes the configuration; waiters keep their ranks and the answers promised to them, slots stay. With an
// error, of type [Problems], nothing changes.
func (q *Queue) SetConfig(now time.Time, cfg Config) (Output, error) {
	if problems := cfg.Validate(); len(problems) > 0 {
		return Output{}, problems
	}
	t := q.begin(now)
	q.configure(t, cfg)
	return q.settle(t), nil
}

func (q *Queue) configure(t instant, cfg Config) {
	q.cfg = cfg.Defaulted(q.cores)
	q.limiter.configure(t, q.cfg.Limits.Rate)
	q.aimd.configure(q.cfg.Limits, q.cores)
	if q.cfg.Limits.Pressure == nil {
		q.pressure.lid = 0
	}
	q.line.setAgeing(q.cfg.Ageing.Std())
	for _, p := range q.pods {
		q.arm(p)
	}
	q.refuseAt = t
}

// Tick does what has become due. Calling it early is harmless.
func (q *Queue) Tick(now time.Time) Output { return q.settle(q.begin(now)) }

// Next is when Tick must be called if no other input comes first; the zero time means never, the queue is idle.
func (q *Queue) Next(now time.Time) time.Time {
	due := q.due()
	if due == never {
		return time.Time{}
	}
	return q.clock.until(now, due)
}

// Busy reports whether anything waits or holds a slot: only then are load samples of use.
func (q *Queue) Busy() bool { return len(q.pods) > 0 }

// begin moves the clock and does what has become due before the input.
func (q *Queue) begin(now time.Time) instant {
	t := q.clock.advance(now, q.due())
	q.wakeDue(t)
	if q.kept != nil && q.keptEnd <= t {
		q.kept.passed = 0
		q.kept = nil
	}
	if q.locks > 0 && q.locksEnd <= t {
		q.locks = 0
	}
	q.pressure.forget(t)
	if q.maintenance && q.maintainEnd <= t {
		q.out.Events = append(q.out.Events, Event{Kind: MaintenanceEnded, For: maintenanceLimit})
		q.maintenance = false
	}
	return t
}

// settle gives the turns and the refusals that follow from the input, and hands out the output.
func (q *Queue) settle(t instant) Output {
	q.wakeDue(t) // an input may tell of something long past
	q.giveTurns(t)
	q.refuseDue(t)
	out := q.out
	q.out = Output{}
	return out
}

// due is the next instant at which begin or settle has something to do.
func (q *Queue) due() instant {
	due := q.alarms.next()
	if len(q.asking) > 0 {
		due = min(due, q.refuseAt)
	}
	if q.present > 0 {
		due = min(due, q.turnsAt())
	}
	if q.kept != nil {
		due = min(due, q.keptEnd)
	}
	if q.locks > 0 {
		due = min(due, q.locksEnd)
	}
	if q.maintenance {
		due = min(due, q.maintainEnd)
	}
	return due
}
