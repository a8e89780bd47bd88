package pace

import (
	"fmt"
	"strings"
	"time"
)

const maxLimit = 1000

// A Problem is one wrong field of a configuration: its path as a file writes it, the value found and what was expected.
type Problem struct {
	Path, Value, Want string
}

// String is "path: value: want …".
func (p Problem) String() string { return p.Path + ": " + p.Value + ": want " + p.Want }

// Problems is a list of them that is an error.
type Problems []Problem

// Error joins the problems with semicolons.
func (p Problems) Error() string {
	texts := make([]string, len(p))
	for i, problem := range p {
		texts[i] = problem.String()
	}
	return strings.Join(texts, "; ")
}

// Validate returns everything wrong with the configuration, in the order of its fields; unset fields are judged by
// their defaults. Paths begin at the configuration itself: "limits.rate.every".
func (c Config) Validate() Problems {
	var p Problems
	if c.Limits.MaxConcurrent != 0 && c.Limits.PerCore != 0 {
		p.add("limits.maxConcurrentPerCore", c.Limits.PerCore, "no value beside limits.maxConcurrent")
	}
	d := c.Defaulted(1)
	d.Limits.validate(&p)
	p.duration("attempt", d.Attempt, time.Second, 120*time.Second)
	p.duration("runtimeBudget", d.RuntimeBudget, 10*time.Second, time.Hour)
	if d.Attempt > d.RuntimeBudget/2 {
		p.add("attempt", d.Attempt, fmt.Sprintf("at most half of runtimeBudget (%s)", d.RuntimeBudget))
	}
	p.duration("maxWait", d.MaxWait, 10*time.Second, 24*time.Hour)
	p.duration("slotTimeout", d.SlotTimeout, 10*time.Second, time.Hour)
	p.duration("ageing", d.Ageing, time.Second, 24*time.Hour)
	p.number("refusalsPerSecond", float64(d.RefusalsPerSecond), 1, 1000)
	return p
}

func (l Limits) validate(p *Problems) {
	if l.MaxConcurrent != 0 {
		p.number("limits.maxConcurrent", float64(l.MaxConcurrent), 1, maxLimit)
	}
	if l.PerCore != 0 {
		p.number("limits.maxConcurrentPerCore", l.PerCore, 0.01, 64)
	}
	if r := l.Rate; r != nil {
		p.duration("limits.rate.every", r.Every, time.Millisecond, time.Hour)
		p.number("limits.rate.burst", float64(r.Burst), 1, maxLimit)
	}
	if s := l.Pressure; s != nil {
		p.number("limits.pressure.cpu", s.CPU, 0, 100)
		p.number("limits.pressure.memory", s.Memory, 0, 100)
		p.number("limits.pressure.io", s.IO, 0, 100)
	}
	if a := l.Adaptive; a != nil {
		p.number("limits.adaptive.max", float64(a.Max), 1, maxLimit)
		p.number("limits.adaptive.slowFactor", a.SlowFactor, 1.1, 100)
		p.duration("limits.adaptive.slowFloor", a.SlowFloor, 0, 10*time.Minute)
	}
}

func (p *Problems) add(path string, value any, want string) {
	*p = append(*p, Problem{Path: path, Value: fmt.Sprint(value), Want: want})
}

func (p *Problems) duration(path string, d Duration, low, high time.Duration) {
	if d.Std() < low || d.Std() > high {
		p.add(path, d, fmt.Sprintf("%s to %s", low, high))
	}
}

// number is written so that NaN fails.
func (p *Problems) number(path string, value, low, high float64) {
	if !(value >= low && value <= high) {
		p.add(path, value, fmt.Sprintf("%g to %g", low, high))
	}
}
