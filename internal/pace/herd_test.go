package pace_test

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"evenkeel.dev/evenkeel/internal/pace"
)

// herd is a node with a kubelet: pods that all want to start at once, are called again some seconds after each failed
// try, run their plugin when granted and have started some time after that.
type herd struct {
	pods          int
	plugin, start time.Duration // the plugin's run and the pod's start after it
	retryMin      time.Duration // the kubelet's pause, up to half as much again, plus the sandbox's own time
	failEvery     int           // every n-th run of the plugin fails
	restartAt     time.Duration // the agent is killed and a new one knows only what it is told
	limitAt       time.Duration // the configuration changes to newLimit
	newLimit      int

	random *rand.Rand
	events timeline
}

// result is what a herd saw.
type result struct {
	most      int // starting at once, by the herd's own count
	refusals  int
	runs      int
	started   map[string]time.Duration
	worstWait time.Duration // the longest single attempt
	perSecond int           // most refusals in a second
}

type timed struct {
	at  time.Time
	seq int
	do  func()
}

type timeline []timed

func (h timeline) Len() int { return len(h) }
func (h timeline) Less(i, j int) bool {
	return cmp.Or(h[i].at.Compare(h[j].at), cmp.Compare(h[i].seq, h[j].seq)) < 0
}
func (h timeline) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timeline) Push(x any)   { *h = append(*h, x.(timed)) }
func (h *timeline) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

type herdRun struct {
	herd
	w        *world
	cfg      pace.Config
	result   result
	seq      int
	starting map[string]time.Time // holding, by the herd's own count, since
	asked    map[pace.AttemptID]time.Time
	first    map[string]time.Time
	refused  []time.Time
}

func (h herd) run(t *testing.T, cfg pace.Config) result {
	h.random = rand.New(rand.NewPCG(1, 2))
	r := &herdRun{
		herd: h, w: newWorld(t, cfg, 4), cfg: cfg, starting: map[string]time.Time{},
		asked: map[pace.AttemptID]time.Time{}, first: map[string]time.Time{},
	}
	r.w.silent = true
	r.w.apply(r.w.queue.Seed(r.w.now, nil))
	r.result.started = map[string]time.Duration{}
	for i := range h.pods {
		pod := fmt.Sprintf("p%02d", i)
		r.after(time.Duration(i)*20*time.Millisecond, func() { r.ask(pod) })
	}
	if h.restartAt > 0 {
		r.after(h.restartAt, r.restart)
	}
	if h.limitAt > 0 {
		r.after(h.limitAt, func() {
			r.cfg.Limits.MaxConcurrent = r.newLimit
			out, err := r.w.queue.SetConfig(r.w.now, r.cfg)
			if err != nil {
				t.Fatal(err)
			}
			r.obey(out)
		})
	}
	r.loop()
	return r.result
}

func (r *herdRun) after(d time.Duration, do func()) {
	r.seq++
	heap.Push(&r.events, timed{at: r.w.now.Add(d), seq: r.seq, do: do})
}

// loop runs what comes first: the herd's next event or the queue's tick.
func (r *herdRun) loop() {
	for len(r.events) > 0 || !r.w.queue.Next(r.w.now).IsZero() {
		next := r.w.queue.Next(r.w.now)
		if len(r.events) > 0 && (next.IsZero() || !r.events[0].at.After(next)) {
			e := heap.Pop(&r.events).(timed)
			r.w.now = e.at
			e.do()
			continue
		}
		r.w.now = next
		r.obey(r.w.queue.Tick(next))
		if r.w.now.Sub(r.w.start) > 6*time.Hour {
			r.w.tb.Fatal("the herd does not end")
		}
	}
}

func (r *herdRun) ask(pod string) {
	if r.first[pod].IsZero() {
		r.first[pod] = r.w.now
	}
	in := r.w.connect(pace.Attempt{
		UID: pod, Name: pod, Info: pace.Info{Class: pace.ClassOrdinary},
		Sandbox: fmt.Sprint(r.seq), Waited: r.w.now.Sub(r.first[pod]),
	})
	r.asked[in.ID] = r.w.now
	r.obey(r.w.queue.Request(r.w.now, in))
}

// obey does what the kubelet and the executables do about an output.
func (r *herdRun) obey(out pace.Output) {
	r.w.apply(out)
	for _, g := range out.Grants {
		r.answered(g.ID)
		r.starting[g.UID] = r.w.now
		r.result.most = max(r.result.most, len(r.starting))
		r.obey(r.w.queue.Ack(r.w.now, g.ID))
		r.result.runs++
		fails := r.failEvery > 0 && r.result.runs%r.failEvery == 0
		r.after(r.plugin, func() { r.pluginDone(g.ID, g.UID, fails) })
	}
	for _, refusal := range out.Refusals {
		r.answered(refusal.ID)
		r.result.refusals++
		r.noteRefusal()
		r.retry(refusal.UID)
	}
}

func (r *herdRun) answered(id pace.AttemptID) {
	r.result.worstWait = max(r.result.worstWait, r.w.now.Sub(r.asked[id]))
	delete(r.asked, id)
}

func (r *herdRun) noteRefusal() {
	r.refused = append(r.refused, r.w.now)
	n := 0
	for i := len(r.refused) - 1; i >= 0 && r.w.now.Sub(r.refused[i]) < time.Second; i-- {
		n++
	}
	r.result.perSecond = max(r.result.perSecond, n)
}

// retry is the kubelet's: the pause, up to half as much again, and up to 3 s of work.
func (r *herdRun) retry(pod string) {
	pause := float64(r.retryMin) * (1 + r.random.Float64()/2)
	r.after(time.Duration(pause+r.random.Float64()*3e9), func() { r.ask(pod) })
}

func (r *herdRun) pluginDone(id pace.AttemptID, pod string, fails bool) {
	if fails {
		delete(r.starting, pod)
		r.retry(pod)
	}
	r.obey(r.w.queue.Done(r.w.now, id, r.plugin, !fails))
	if fails {
		return
	}
	r.after(r.start, func() {
		delete(r.starting, pod)
		r.result.started[pod] = r.w.now.Sub(r.w.start)
		out, _ := r.w.queue.Release(r.w.now, pod, "Started")
		r.obey(out)
	})
}

// restart kills the agent. Its executables redial the new one within two seconds and say what they do; pods whose
// plugin is done are found in the API.
func (r *herdRun) restart() {
	queue, err := pace.New(r.w.now, r.cfg, 4)
	if err != nil {
		r.w.tb.Fatal(err)
	}
	old := r.w.queue.Snapshot()
	r.w.queue, r.w.slots = queue, map[string]bool{}
	for id, p := range r.w.attempts {
		if !p.answered {
			p.answered = true
			delete(r.asked, id)
		}
	}
	for _, p := range old.Waiting {
		if p.Present {
			r.after(time.Duration(r.random.IntN(2000))*time.Millisecond, func() { r.ask(p.UID) })
		}
	}
	var starting []pace.Starting
	for _, p := range old.Holding {
		if p.Phase == pace.PhaseStarting {
			starting = append(starting, pace.Starting{UID: p.UID, For: p.For.Std()})
			continue
		}
		r.after(time.Duration(r.random.IntN(2000))*time.Millisecond, func() {
			if _, still := r.starting[p.UID]; !still {
				return
			}
			ran := r.w.now.Sub(r.starting[p.UID])
			r.w.resume(pace.Attempt{UID: p.UID, Info: pace.Info{Class: pace.ClassOrdinary}}, ran)
			id := r.w.newest[p.UID]
			r.after(max(0, r.plugin-ran), func() { r.obey(r.w.queue.Done(r.w.now, id, r.plugin, true)) })
		})
	}
	r.after(1500*time.Millisecond, func() {
		r.w.takesSlots(func() pace.Output { return r.w.queue.Seed(r.w.now, starting) })
	})
}

// TestHerd runs the herds of testdata/herd and prints what they saw.
func TestHerd(t *testing.T) {
	datadriven.RunTest(t, "testdata/herd/herds", func(t *testing.T, d *datadriven.TestData) string {
		a := &args{t: t, d: d}
		h := herd{
			pods: a.number("pods", 60), plugin: a.duration("plugin", 5*time.Second),
			start: a.duration("start", 10*time.Second), retryMin: a.duration("retry", 10*time.Second),
			failEvery: a.number("failEvery", 0), restartAt: a.duration("restartAt", 0),
			limitAt: a.duration("limitAt", 0), newLimit: a.number("newLimit", 0),
		}
		cfg := a.config(pace.Config{})
		got := h.run(t, cfg)
		if len(got.started) != h.pods {
			t.Errorf("%d of %d pods started", len(got.started), h.pods)
		}
		limit := max(cfg.Limits.MaxConcurrent, h.newLimit)
		if cfg.Limits.Adaptive != nil {
			limit = cfg.Limits.Adaptive.Max
		}
		if got.most > limit {
			t.Errorf("%d pods starting at once, limit %d", got.most, limit)
		}
		last := time.Duration(0)
		for _, at := range got.started {
			last = max(last, at)
		}
		return fmt.Sprintf("all %d started after %s, at most %d at once; %d runs of the plugin, %d attempts refused, "+
			"at most %d in a second; the longest attempt waited %s\n", len(got.started), last.Round(time.Second), got.most,
			got.runs, got.refusals, got.perSecond, got.worstWait.Round(time.Second))
	})
}
