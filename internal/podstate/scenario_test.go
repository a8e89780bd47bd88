package podstate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/internal/podstate"
)

// TestScenarios runs the files of testdata, one for each row of the rule table:
//
//	rules [startedWhen=] [settle=] [pullTimeout=] [initTimeout=]
//	boot TIME
//	spec [gate]            the containers, one a line: NAME [init|sidecar] [startup] [readiness]
//	status [uid=] [phase=] [reason=] [deleted] [ready=TIME] [sandbox=TIME]
//	                       what the API shows, one container a line: NAME STATE [id=] [restarts=] [started] [ready]
//	                       [last=TIME], STATE being running@TIME, exited:CODE@TIME..TIME or waiting:REASON;
//	                       ready= and sandbox= are conditions that became true then, or "no"
//	grant TIME [unseen]    remembers the last status; unseen: the API showed nothing
//	restart                the agent restarts and forgets the grant
//	plugin TIME            the network plugin is done
//	clock-back D           the node's clock is set back
//	judge TIME…            at each time
//	starting TIME          whether a restarted agent counts the pod
//
// Times are of one day, 15:04:05.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &scenario{boot: at(t, "00:00:00")}
		s.pod.UID = "u1"
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t, s.d = t, d
			return s.run()
		})
	})
}

type scenario struct {
	t      *testing.T
	d      *datadriven.TestData
	rules  podstate.Rules
	boot   time.Time
	pod    corev1.Pod
	memory podstate.Memory
}

func (s *scenario) run() string {
	switch s.d.Cmd {
	case "rules":
		s.readRules()
	case "boot":
		s.boot = s.time(0)
	case "spec":
		s.readSpec()
	case "status":
		s.readStatus()
	case "grant":
		pod := &s.pod
		if s.d.HasArg("unseen") {
			pod = nil
		}
		s.memory = podstate.Remember(pod.DeepCopy(), "u1", s.time(0), s.boot)
	case "restart":
		s.memory = podstate.Recover("u1", s.boot)
	case "plugin":
		s.memory.PluginDone(s.time(0))
	case "clock-back":
		by, err := time.ParseDuration(s.d.CmdArgs[0].Key)
		if err != nil {
			s.t.Fatal(err)
		}
		s.memory.ClockSetBack(by)
	case "judge":
		var b strings.Builder
		for i := range s.d.CmdArgs {
			fmt.Fprintf(&b, "%s\n", s.judge(s.time(i)))
		}
		return b.String()
	case "starting":
		since, ok := s.rules.Starting(&s.pod, s.boot, s.time(0))
		if !ok {
			return "no"
		}
		return "since " + since.Format(time.TimeOnly)
	default:
		s.d.Fatalf(s.t, "unknown command %s", s.d.Cmd)
	}
	return ""
}

func (s *scenario) judge(now time.Time) string {
	v := s.rules.Judge(s.memory, &s.pod, now)
	text := now.Format(time.TimeOnly) + " hold"
	if v.Release {
		text = now.Format(time.TimeOnly) + " release " + string(v.Reason)
	}
	if v.Gone {
		text += ", gone"
	}
	if v.Detail != "" {
		text += " (" + v.Detail + ")"
	}
	if !v.Recheck.IsZero() {
		text += ", look again at " + v.Recheck.Format(time.TimeOnly)
	}
	return text
}

func (s *scenario) time(arg int) time.Time {
	if len(s.d.CmdArgs) <= arg {
		s.d.Fatalf(s.t, "%s needs a time", s.d.Cmd)
	}
	return at(s.t, s.d.CmdArgs[arg].Key)
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	clock, err := time.Parse(time.TimeOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return clock.AddDate(2026, 0, 0)
}

func (s *scenario) text(key string) string {
	value := ""
	s.d.MaybeScanArgs(s.t, key, &value)
	return value
}

func (s *scenario) readRules() {
	s.rules = podstate.Rules{StartedWhen: podstate.Mode(s.text("startedWhen"))}
	for key, field := range map[string]interface{ UnmarshalText([]byte) error }{
		"settle": &s.rules.Settle, "pullTimeout": &s.rules.PullTimeout, "initTimeout": &s.rules.InitTimeout,
	} {
		if text := s.text(key); text != "" {
			if err := field.UnmarshalText([]byte(text)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

func (s *scenario) readSpec() {
	s.pod.Spec = corev1.PodSpec{}
	if s.d.HasArg("gate") {
		s.pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.org/gate"}}
	}
	for line := range strings.Lines(s.d.Input) {
		words := strings.Fields(line)
		c, init := corev1.Container{Name: words[0]}, false
		for _, word := range words[1:] {
			switch word {
			case "init":
				init = true
			case "sidecar":
				always := corev1.ContainerRestartPolicyAlways
				c.RestartPolicy, init = &always, true
			case "startup":
				c.StartupProbe = &corev1.Probe{}
			case "readiness":
				c.ReadinessProbe = &corev1.Probe{}
			default:
				s.t.Fatalf("unknown word %q", word)
			}
		}
		if init {
			s.pod.Spec.InitContainers = append(s.pod.Spec.InitContainers, c)
		} else {
			s.pod.Spec.Containers = append(s.pod.Spec.Containers, c)
		}
	}
}

func (s *scenario) readStatus() {
	s.pod.UID, s.pod.DeletionTimestamp = "u1", nil
	if uid := s.text("uid"); uid != "" {
		s.pod.UID = types.UID(uid)
	}
	if s.d.HasArg("deleted") {
		s.pod.DeletionTimestamp = &metav1.Time{Time: s.boot}
	}
	status := corev1.PodStatus{Phase: corev1.PodPhase(s.text("phase")), Reason: s.text("reason")}
	for _, kind := range []struct {
		key  string
		kind corev1.PodConditionType
	}{{"ready", corev1.PodReady}, {"sandbox", corev1.PodReadyToStartContainers}} {
		switch text := s.text(kind.key); text {
		case "":
		case "no":
			status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind.kind, Status: corev1.ConditionFalse})
		default:
			status.Conditions = append(status.Conditions, corev1.PodCondition{
				Type:   kind.kind,
				Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: at(s.t, text)},
			})
		}
	}
	for line := range strings.Lines(s.d.Input) {
		c := s.container(strings.Fields(line))
		if s.isInit(c.Name) {
			status.InitContainerStatuses = append(status.InitContainerStatuses, c)
		} else {
			status.ContainerStatuses = append(status.ContainerStatuses, c)
		}
	}
	s.pod.Status = status
}

func (s *scenario) isInit(name string) bool {
	for _, c := range s.pod.Spec.InitContainers {
		if c.Name == name {
			return true
		}
	}
	return false
}

func (s *scenario) container(words []string) corev1.ContainerStatus {
	c := corev1.ContainerStatus{Name: words[0]}
	kind, when, _ := strings.Cut(words[1], "@")
	state, arg, _ := strings.Cut(kind, ":")
	switch state {
	case "running":
		c.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: at(s.t, when)}}
	case "exited":
		from, to, _ := strings.Cut(when, "..")
		c.State.Terminated = &corev1.ContainerStateTerminated{
			StartedAt:  metav1.Time{Time: at(s.t, from)},
			FinishedAt: metav1.Time{Time: at(s.t, to)},
		}
		fmt.Sscan(arg, &c.State.Terminated.ExitCode)
	case "waiting":
		c.State.Waiting = &corev1.ContainerStateWaiting{Reason: arg}
	default:
		s.t.Fatalf("unknown state %q", state)
	}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "id":
			c.ContainerID = "containerd://" + value
		case "restarts":
			fmt.Sscan(value, &c.RestartCount)
		case "started":
			yes := true
			c.Started = &yes
		case "ready":
			c.Ready = true
		case "last":
			c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				StartedAt: metav1.Time{Time: at(s.t, value)}, FinishedAt: metav1.Time{Time: at(s.t, value)},
			}
		default:
			s.t.Fatalf("unknown word %q", word)
		}
	}
	return c
}
