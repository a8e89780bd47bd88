package herd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script is a machine that does what it is told, and writes down what is asked of it.
type script struct {
	began    time.Time
	refusals int             // of the first ADDs
	wait     time.Duration   // of each ADD, before the plugin's second
	work     []time.Duration // of each container; the last goes on
	log      []string
}

func (m *script) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf("%gs ", time.Since(m.began).Seconds())+fmt.Sprintf(format, args...))
}

func (m *script) add(ctx context.Context, sandbox int) (time.Time, bool, error) {
	m.note("ADD %d", sandbox)
	sleep(ctx, m.wait)
	if sandbox <= m.refusals {
		return time.Time{}, false, nil
	}
	started := time.Now()
	sleep(ctx, time.Second)
	return started, true, ctx.Err()
}

func (m *script) del(_ context.Context, sandbox int) error {
	m.note("DEL %d", sandbox)
	return nil
}

func (m *script) container(ctx context.Context) (<-chan error, error) {
	m.note("container")
	work := m.work[0]
	m.work = m.work[min(1, len(m.work)-1):]
	outcome := make(chan error, 1)
	go func() {
		sleep(ctx, work)
		outcome <- ctx.Err()
	}()
	return outcome, nil
}

func (m *script) show(s podState) error {
	m.note("shown %s", s.phase)
	return nil
}

// startPod runs a kubelet for as long as it needs, at most an hour, and gives the pod's story.
func startPod(t *testing.T, m *script, k kubelet) Pod {
	t.Helper()
	m.began = time.Now()
	b := newBoard(m.began)
	s := b.add("pod")
	k.machine, k.random = m, rand.New(rand.NewPCG(1, 1))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := k.start(ctx, s); err != nil {
		t.Fatal(err)
	}
	return b.close(time.Now())[0]
}

func TestAPodThatIsLetThroughAtOnceIsStartingFromItsPluginsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &script{wait: 4 * time.Second, work: []time.Duration{10 * time.Second}}
		p := startPod(t, m, kubelet{gated: true, retry: 10 * time.Second})
		want := []Span{{Waiting, 0, 4}, {Plugin, 4, 5}, {Starting, 5, 15}}
		if diff := cmp.Diff(want, p.Spans); diff != "" || p.Ready == nil || *p.Ready != 15 {
			t.Errorf("ready %v, %s", p.Ready, diff)
		}
		want2 := []string{"0s ADD 1", "5s container", "5s shown starting", "15s shown ready"}
		if diff := cmp.Diff(want2, m.log); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAPodThatIsRefusedComesBackWithANewSandboxAfterADELAndAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &script{refusals: 3, work: []time.Duration{time.Second}}
		p := startPod(t, m, kubelet{gated: true, retry: 10 * time.Second})
		if p.Adds != 4 || p.Refused != 3 || p.Ready == nil {
			t.Fatalf("%+v", p)
		}
		var order []string
		for _, line := range m.log {
			_, what, _ := strings.Cut(line, " ")
			order = append(order, what)
		}
		want := []string{"ADD 1", "DEL 1", "ADD 2", "DEL 2", "ADD 3", "DEL 3", "ADD 4", "container", "shown starting", "shown ready"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Error(diff)
		}
		for _, s := range p.Spans {
			if took := s.To - s.From; s.Phase == Away && (took < 10 || took > 15) {
				t.Errorf("away for %s, a kubelet comes back after 10 to 15 s", took)
			}
		}
	})
}

func TestAContainerThatIsTooSlowForItsProbeIsStartedAgainAtOnceThenAfterLongerAndLongerPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := time.Minute
		m := &script{work: []time.Duration{slow, slow, slow, 5 * time.Second}}
		p := startPod(t, m, kubelet{probe: 20 * time.Second, retry: 10 * time.Second})
		want := []Span{
			{Plugin, 0, 1}, {Starting, 1, 21}, {Starting, 21, 41}, {BackOff, 41, 51}, {Starting, 51, 71}, {BackOff, 71, 91}, {Starting, 91, 96},
		}
		if diff := cmp.Diff(want, p.Spans); diff != "" || p.Restart != 3 {
			t.Errorf("%d restarts, %s", p.Restart, diff)
		}
		if !slices.Contains(m.log, "41s shown backoff") {
			t.Errorf("the back-off was not shown: %q", m.log)
		}
	})
}

func TestAPodThatIsNotReadyAtTheEndHasNoReadyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &script{work: []time.Duration{2 * time.Hour}}
		p := startPod(t, m, kubelet{})
		if diff := cmp.Diff([]Span{{Plugin, 0, 1}, {Starting, 1, 3600}}, p.Spans); diff != "" || p.Ready != nil {
			t.Errorf("ready %v, %s", p.Ready, diff)
		}
	})
}

func TestTheBackOffOfAContainerEndsAtFiveMinutes(t *testing.T) {
	var got []time.Duration
	for n := range 8 {
		got = append(got, backOff(10*time.Second, n))
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{0, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s}, got); diff != "" {
		t.Error(diff)
	}
}

func TestALateHeartbeatDoesNotHoldUpTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := make(chan time.Duration, 5)
		for _, tenths := range []time.Duration{1, 25, 1, 2, 1} {
			took <- tenths * 100 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		got, err := beats(ctx, time.Now(), time.Second, func() error {
			time.Sleep(<-took)
			return nil
		})
		want := []Beat{{0, 0.1}, {1, 2.5}, {2, 0.1}, {3, 0.2}, {4, 0.1}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, %s", err, diff)
		}
	})
}

func TestOnlySoManyHeartbeatsGoOnAtOneTimeAndTheWaitOfTheNextCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second+maxBeats*time.Second-time.Millisecond)
		defer cancel()
		got, err := beats(ctx, time.Now(), time.Second, func() error {
			time.Sleep(100 * time.Second)
			return nil
		})
		if err != nil || len(got) != 2*maxBeats {
			t.Fatalf("%v, %d beats", err, len(got))
		}
		if first, next := got[maxBeats-1].Delay, got[maxBeats].Delay; first != 100 || next != 100-maxBeats+100 {
			t.Errorf("the last that found room was done after %s, the next after %s", first, next)
		}
	})
}

func TestAHeartbeatThatFailsEndsTheRun(t *testing.T) {
	broken := errors.New("no such program")
	if _, err := beats(t.Context(), time.Now(), time.Second, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
