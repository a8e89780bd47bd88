package pace

import (
	"math"
	"time"
)

// Config is everything a user can set about the queue. A zero field means its default; [Config.Defaulted] fills them
// in and [Config.Validate] checks the ranges given here.
type Config struct {
	// Limits say how many pods may be starting at once.
	Limits Limits `json:"limits"`
	// Attempt is how long one connection waits before it is told to try again later. 1s to 120s and at most half of
	// RuntimeBudget; default 60s.
	Attempt Duration `json:"attempt,omitempty"`
	// RuntimeBudget is what the container runtime is given for one sandbox: twice the kubelet's runtimeRequestTimeout.
	// 10s to 1h; default 240s.
	RuntimeBudget Duration `json:"runtimeBudget,omitempty"`
	// MaxWait is the wait, over all attempts, after which a pod goes to the head of the queue. 10s to 24h; default 9m,
	// because a Deployment calls itself stuck after ten.
	MaxWait Duration `json:"maxWait,omitempty"`
	// SlotTimeout ends every slot, whatever the pod does: the queue always moves. 10s to 1h; default 5m.
	SlotTimeout Duration `json:"slotTimeout,omitempty"`
	// Ageing is the extra wait that makes up for one step of priority, where the steps are the different priorities now
	// in the queue. 1s to 24h; default 2m.
	Ageing Duration `json:"ageing,omitempty"`
	// RefusalsPerSecond caps how many attempts are told to try again later in a second, because each of them costs the
	// runtime a DEL and a network namespace. 1 to 1000; default 5.
	RefusalsPerSecond int `json:"refusalsPerSecond,omitempty"`
}

// Limits are combined: a pod starts when all of them allow it.
type Limits struct {
	// MaxConcurrent is how many pods may be starting at once. 1 to 1000. Without it and PerCore: one per core, at least 2.
	MaxConcurrent int `json:"maxConcurrent,omitempty"`
	// PerCore gives MaxConcurrent as a number per core, rounded up. 0.01 to 64; not together with MaxConcurrent.
	PerCore float64 `json:"maxConcurrentPerCore,omitempty"`
	// Rate spaces starts in time; nil is no rate limit.
	Rate *Rate `json:"rate,omitempty"`
	// Pressure lowers the limit to one while the node is short of something; nil is off.
	Pressure *Pressure `json:"pressure,omitempty"`
	// Adaptive moves the limit with the node's health; nil is off. MaxConcurrent or PerCore is then where it begins.
	Adaptive *Adaptive `json:"adaptive,omitempty"`
}

// Rate lets one pod start in every Every, and up to Burst at once after a pause.
type Rate struct {
	// Every is the time between two starts. 1ms to 1h; it has no default.
	Every Duration `json:"every"`
	// Burst is how many starts may be saved up. 1 to 1000; default 1.
	Burst int `json:"burst,omitempty"`
}

// Pressure holds thresholds in percent; a zero one is not looked at. While a sample is above any of them one pod starts
// at a time, and afterwards the limit comes back by one with each healthy sample.
type Pressure struct {
	CPU    float64 `json:"cpu,omitempty"`
	Memory float64 `json:"memory,omitempty"`
	IO     float64 `json:"io,omitempty"`
}

// Adaptive moves the limit between 1 and Max: up by one for each round of starts in which the plugin stayed quick and
// the node healthy while pods were waiting, down by three tenths, at most every ten seconds, when the plugin fails or
// slows or the node is short of something (Limits.Pressure, or CPU 90, memory 95, I/O 50 without it).
type Adaptive struct {
	// Max is the highest limit it may reach. 1 to 1000; default four times the limit it begins at.
	Max int `json:"max,omitempty"`
	// SlowFactor is how many times its usual best duration the plugin may take. 1.1 to 100; default 3.
	SlowFactor float64 `json:"slowFactor,omitempty"`
	// SlowFloor is a duration that is never called slow. 0s to 10m; default 2s.
	SlowFloor Duration `json:"slowFloor,omitempty"`
}

// Defaulted returns the configuration with every unset field at its default, for a node with this many cores. The
// receiver, and what its pointers point at, stay as they are.
func (c Config) Defaulted(cores int) Config {
	setDuration(&c.Attempt, 60*time.Second)
	setDuration(&c.RuntimeBudget, 240*time.Second)
	setDuration(&c.MaxWait, 9*time.Minute)
	setDuration(&c.SlotTimeout, 5*time.Minute)
	setDuration(&c.Ageing, 2*time.Minute)
	if c.RefusalsPerSecond == 0 {
		c.RefusalsPerSecond = 5
	}
	c.Limits = c.Limits.defaulted(cores)
	return c
}

func (l Limits) defaulted(cores int) Limits {
	if l.MaxConcurrent == 0 && l.PerCore == 0 {
		l.MaxConcurrent = max(2, cores)
	}
	if l.Rate != nil {
		r := *l.Rate
		if r.Burst == 0 {
			r.Burst = 1
		}
		l.Rate = &r
	}
	if l.Adaptive != nil {
		a := *l.Adaptive
		if a.Max == 0 {
			a.Max = min(4*l.static(cores), maxLimit)
		}
		if a.SlowFactor == 0 {
			a.SlowFactor = 3
		}
		setDuration(&a.SlowFloor, 2*time.Second)
		l.Adaptive = &a
	}
	return l
}

// static is MaxConcurrent, or PerCore turned into a number.
func (l Limits) static(cores int) int {
	if l.MaxConcurrent != 0 {
		return l.MaxConcurrent
	}
	return max(1, int(math.Ceil(l.PerCore*float64(max(1, cores)))))
}

func setDuration(d *Duration, value time.Duration) {
	if *d == 0 {
		*d = Duration(value)
	}
}

// Duration is a time.Duration that configuration files write as text: "90s", "5m".
type Duration time.Duration

// MarshalText writes the duration as time.Duration's String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = Duration(parsed)
	return nil
}

// String is the text form, such as "1m30s".
func (d Duration) String() string { return time.Duration(d).String() }

// Std is the duration as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }
