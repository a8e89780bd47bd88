package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/pacepolicy/live"
)

// newFollower is an agent without sockets and sources, whose loop runs.
func newFollower(t *testing.T, file string) *Agent {
	t.Helper()
	conf, err := agentconfig.Parse([]byte("install: {enabled: false}\n"+file), "linux")
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{options: Options{Config: conf}, metrics: m, current: conf}
	a.settings.file = conf
	a.log, a.options.Level, _ = newLogger(conf.Log, &syncBuffer{})
	if a.loop, err = a.newLoop(noEvents{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go a.loop.Run(ctx)
	t.Cleanup(func() { cancel(); <-a.loop.ended })
	return a
}

func policyOf(name string, generation int64, pace v1alpha1.Pace) *v1alpha1.PacePolicy {
	return &v1alpha1.PacePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: generation},
		Spec:       v1alpha1.PacePolicySpec{Pace: &pace},
	}
}

// expect compares the limit in force, the policy that it is of, and the problem that is shown with it.
func expect(t *testing.T, a *Agent, limit int, name, problem string) {
	t.Helper()
	s, _ := a.status(false)
	p := a.policyInForce()
	if s.Queue.Limit != limit || p.Name != name || !strings.Contains(p.Problem, problem) || (problem == "") != (p.Problem == "") {
		t.Errorf("limit %d of policy %q, problem %q; want %d of %q, problem %q", s.Queue.Limit, p.Name, p.Problem, limit, name, problem)
	}
}

func TestThePolicyGoesBeforeTheFileAndAReloadedFileKeepsIt(t *testing.T) {
	a := newFollower(t, limit(7))
	expect(t, a, 7, "", "")
	policy := policyOf("p", 1, v1alpha1.Pace{Limits: &v1alpha1.Limits{MaxConcurrent: 2}})
	a.follow(live.Finding{Known: true, Policy: policy})
	expect(t, a, 2, "p", "")

	file := a.settings.file
	file.Pace.Limits.MaxConcurrent = 9
	a.reload(file)
	expect(t, a, 2, "p", "")
	a.follow(live.Finding{Known: true})
	expect(t, a, 9, "", "")
}

func TestWhatTheAPIDoesNotKnowLeavesEverythingAsItIs(t *testing.T) {
	a := newFollower(t, limit(7))
	down := errors.New("no route to host")
	a.follow(live.Finding{Err: down})
	expect(t, a, 7, "", "no route to host")
	policy := policyOf("p", 1, v1alpha1.Pace{Limits: &v1alpha1.Limits{MaxConcurrent: 2}})
	a.follow(live.Finding{Known: true, Policy: policy})
	expect(t, a, 2, "p", "")
	a.follow(live.Finding{Err: down})
	expect(t, a, 2, "p", "no route to host")
	a.follow(live.Finding{Known: true, Absent: true}) // uninstalled
	expect(t, a, 7, "", "")
}

func TestAPolicyThatIsWrongWithTheFileIsLeftOutUntilOneOfThemIsMended(t *testing.T) {
	a := newFollower(t, "pace: {limits: {maxConcurrent: 7}, runtimeBudget: 60s, attempt: 20s}\n")
	policy := policyOf("p", 1, v1alpha1.Pace{Attempt: "100s", Limits: &v1alpha1.Limits{MaxConcurrent: 2}})
	a.follow(live.Finding{Known: true, Policy: policy})
	expect(t, a, 7, "", "at most half of runtimeBudget")
	file := a.settings.file
	file.Pace.RuntimeBudget = 0
	a.reload(file)
	expect(t, a, 2, "p", "")
}
