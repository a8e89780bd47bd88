package pace_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"evenkeel.dev/evenkeel/internal/pace"
)

// TestScenarios runs the files of testdata/rules, one for each rule. Every command prints what the queue decided because of
// it, each line with the time since the start:
//
//	new [recovering] [silent] [cores=N] [SETTING=VALUE…]    a queue; past its restart grace unless "recovering";
//	                                                peers acknowledge their grants unless "silent"; "uncapped"
//	                                                does not check the cap on refusals
//	config SETTING=VALUE…                           settings: limit, perCore, rate=every/burst, cpu, memory, io,
//	                                                adaptive=max, attempt, budget, maxWait, slotTimeout, ageing, cap
//	request POD… [class=] [prio=] [wait=] [spent=] [waited=] [sandbox=] [network=]
//	resume POD… [ran=]     seed [POD…] [for=]     classify POD… class= [prio=]
//	identify NAME UID      a pod known by its name gets its UID
//	ack POD…   done POD… [took=] [failed]   cancel POD…   (each the pod's newest attempt)
//	release POD… [why=]    gone POD…
//	locks N    sample [cpu=] [memory=] [io=]    maintenance on|off
//	advance D  (ticking as asked)    jump D  (the clock is set, nobody ticks)    status    rank POD…
//
// "p1..p9" is nine pods.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				w = scenarioWorld(t, d)
				return w.flush()
			}
			if w == nil {
				d.Fatalf(t, "begin with new")
			}
			w.tb = t
			run, ok := commands()[d.Cmd]
			if !ok {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return run(w, &args{t: t, d: d})
		})
	})
}

func scenarioWorld(t *testing.T, d *datadriven.TestData) *world {
	a := &args{t: t, d: d}
	w := newWorld(t, a.config(pace.Config{}), a.number("cores", 4))
	w.silent = d.HasArg("silent")
	if d.HasArg("uncapped") {
		w.perSecond = 0
	}
	if !d.HasArg("recovering") {
		w.recover()
	}
	return w
}

type command func(w *world, a *args) string

func commands() map[string]command {
	return map[string]command{
		"config": func(w *world, a *args) string {
			out, err := w.queue.SetConfig(w.now, a.config(pace.Config{}))
			if err != nil {
				return err.Error()
			}
			w.apply(out)
			return w.flush()
		},
		"request": func(w *world, a *args) string {
			for _, pod := range a.pods() {
				w.request(a.attempt(pod))
			}
			return w.flush()
		},
		"resume": func(w *world, a *args) string {
			for _, pod := range a.pods() {
				w.resume(a.attempt(pod), a.duration("ran", 0))
			}
			return w.flush()
		},
		"seed": func(w *world, a *args) string {
			var seeds []pace.Starting
			for _, pod := range a.pods() {
				seeds = append(seeds, pace.Starting{UID: pod, Name: pod, Info: a.info(), For: a.duration("for", 0)})
			}
			w.takesSlots(func() pace.Output { return w.queue.Seed(w.now, seeds) })
			return w.flush()
		},
		"classify": func(w *world, a *args) string {
			return a.each(w, func(pod string) { w.apply(w.queue.Classify(w.now, pod, a.info())) })
		},
		"identify": func(w *world, a *args) string {
			name, uid := a.pods()[0], a.pods()[1]
			if !w.identify(name, uid) {
				return name + " is not known\n"
			}
			return w.flush()
		},
		"ack": func(w *world, a *args) string {
			return a.each(w, func(pod string) { w.apply(w.queue.Ack(w.now, w.newest[pod])) })
		},
		"done": func(w *world, a *args) string {
			return a.each(w, func(pod string) {
				w.apply(w.queue.Done(w.now, w.newest[pod], a.duration("took", time.Second), !a.d.HasArg("failed")))
			})
		},
		"cancel": func(w *world, a *args) string {
			return a.each(w, func(pod string) { w.cancel(w.newest[pod]) })
		},
		"release": func(w *world, a *args) string {
			return a.each(w, func(pod string) {
				out, held := w.queue.Release(w.now, pod, pace.ReleaseReason(a.text("why", "Started")))
				w.apply(out)
				if !held {
					w.printf("%s held no slot\n", pod)
				}
			})
		},
		"gone": func(w *world, a *args) string {
			return a.each(w, func(pod string) { w.apply(w.queue.Gone(w.now, pod)) })
		},
		"locks": func(w *world, a *args) string {
			n, err := strconv.Atoi(a.first())
			if err != nil {
				a.t.Fatal(err)
			}
			w.apply(w.queue.LockHolders(w.now, n))
			return w.flush()
		},
		"sample": func(w *world, a *args) string {
			w.apply(w.queue.Sample(w.now, pace.Load{CPU: a.float("cpu"), Memory: a.float("memory"), IO: a.float("io")}))
			return w.flush()
		},
		"maintenance": func(w *world, a *args) string {
			w.apply(w.queue.Maintenance(w.now, a.first() == "on"))
			return w.flush()
		},
		"advance": func(w *world, a *args) string {
			w.advance(a.parse(a.first()))
			return w.flush()
		},
		"jump": func(w *world, a *args) string {
			w.jumped = true
			w.now = w.now.Add(a.parse(a.first()))
			w.apply(w.queue.Tick(w.now))
			return w.flush()
		},
		"status": func(w *world, _ *args) string { return w.status() },
		"rank": func(w *world, a *args) string {
			return a.each(w, func(pod string) {
				rank, of, waited, ok := w.queue.Position(w.now, w.newest[pod])
				fmt.Fprintf(&w.log, "%s %d of %d, waited %s, %t\n", pod, rank, of, waited, ok)
			})
		},
	}
}

// args reads the arguments of a command.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a *args) each(w *world, do func(pod string)) string {
	for _, pod := range a.pods() {
		do(pod)
	}
	return w.flush()
}

// pods are the arguments without a value that are not flags, ranges expanded.
func (a *args) pods() []string {
	var pods []string
	for _, arg := range a.d.CmdArgs {
		if len(arg.Vals) > 0 || arg.Key == "failed" {
			continue
		}
		first, last, isRange := strings.Cut(arg.Key, "..")
		if !isRange {
			pods = append(pods, arg.Key)
			continue
		}
		name := strings.TrimRight(first, "0123456789")
		low, _ := strconv.Atoi(strings.TrimPrefix(first, name))
		high, _ := strconv.Atoi(strings.TrimPrefix(last, name))
		for i := low; i <= high; i++ {
			pods = append(pods, fmt.Sprint(name, i))
		}
	}
	return pods
}

func (a *args) first() string {
	if len(a.d.CmdArgs) == 0 {
		a.t.Fatalf("%s: %s needs an argument", a.d.Pos, a.d.Cmd)
	}
	return a.d.CmdArgs[0].Key
}

func (a *args) text(key, unset string) string {
	a.d.MaybeScanArgs(a.t, key, &unset)
	return unset
}

func (a *args) number(key string, unset int) int {
	a.d.MaybeScanArgs(a.t, key, &unset)
	return unset
}

func (a *args) float(key string) float64 {
	text := a.text(key, "0")
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		a.t.Fatal(err)
	}
	return value
}

func (a *args) duration(key string, unset time.Duration) time.Duration {
	return a.parse(a.text(key, unset.String()))
}

func (a *args) parse(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		a.t.Fatalf("%s: %v", a.d.Pos, err)
	}
	return d
}

func (a *args) info() pace.Info {
	classes := map[string]pace.Class{
		"unknown": pace.ClassUnknown, "ordinary": pace.ClassOrdinary,
		"urgent": pace.ClassUrgent, "ungated": pace.ClassUngated,
	}
	return pace.Info{Class: classes[a.text("class", "ordinary")], Priority: int32(a.number("prio", 0))}
}

func (a *args) attempt(pod string) pace.Attempt {
	return pace.Attempt{
		UID: pod, Name: pod, Info: a.info(), Sandbox: a.text("sandbox", ""),
		Network: a.text("network", ""), Wait: a.duration("wait", 0), Spent: a.duration("spent", 0),
		Waited: a.duration("waited", 0),
	}
}

func (a *args) config(c pace.Config) pace.Config {
	c.Limits.MaxConcurrent = a.number("limit", 0)
	c.Limits.PerCore = a.float("perCore")
	if text := a.text("rate", ""); text != "" {
		every, burst, _ := strings.Cut(text, "/")
		n, _ := strconv.Atoi(burst)
		c.Limits.Rate = &pace.Rate{Every: pace.Duration(a.parse(every)), Burst: n}
	}
	if p := (pace.Pressure{CPU: a.float("cpu"), Memory: a.float("memory"), IO: a.float("io")}); p != (pace.Pressure{}) {
		c.Limits.Pressure = &p
	}
	if a.d.HasArg("adaptive") {
		c.Limits.Adaptive = &pace.Adaptive{Max: a.number("adaptive", 0)}
	}
	c.Attempt = pace.Duration(a.duration("attempt", 0))
	c.RuntimeBudget = pace.Duration(a.duration("budget", 0))
	c.MaxWait = pace.Duration(a.duration("maxWait", 0))
	c.SlotTimeout = pace.Duration(a.duration("slotTimeout", 0))
	c.Ageing = pace.Duration(a.duration("ageing", 0))
	c.RefusalsPerSecond = a.number("cap", 0)
	return c
}
