package agent

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/nodepace"
	"evenkeel.dev/evenkeel/internal/paceobjects"
	"evenkeel.dev/evenkeel/internal/pacepolicy/live"
)

// followAPI takes its settings from the PacePolicy that holds on the node, and
// reports in the node's NodePace, until ctx ends. Without an API, which is
// without the source "kubernetes", it does nothing.
func (a *Agent) followAPI(ctx context.Context) error {
	if a.options.sourceName() != kubernetesSource {
		return nil
	}
	config, err := newConfig(a.options.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := paceobjects.New(config)
	if err != nil {
		return err
	}
	publisher := &nodepace.Publisher{
		Store: objects.Paces, Node: a.options.Node, Observe: (&observer{agent: a}).observe, Trouble: a.reportTrouble,
		NodeUID: func(ctx context.Context) (types.UID, error) {
			node, err := client.CoreV1().Nodes().Get(ctx, a.options.Node, metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			return node.UID, nil
		},
	}
	done := make(chan struct{})
	go func() { defer close(done); publisher.Run(ctx) }()
	source := live.Source{Policies: objects.Policies, Nodes: client.CoreV1().Nodes(), Node: a.options.Node}
	err = source.Run(ctx, a.follow)
	<-done
	return err
}

// reportTrouble keeps a missing CRD out of the problems: it is nobody's mistake.
func (a *Agent) reportTrouble(err error) {
	if errors.Is(err, nodepace.ErrAbsent) {
		a.log.Debug("report", "err", err)
		err = nil
	}
	a.trouble("report", err)
}

// observer looks at an agent for its report. The installed file is read only
// when it has changed.
type observer struct {
	agent *Agent
	seen  os.FileInfo
	file  *v1alpha1.Executable
}

func (o *observer) observe() (nodepace.Observation, bool) {
	a := o.agent
	s, alive := a.status(false)
	is := func(is bool, why string) nodepace.State {
		if is {
			why = ""
		}
		return nodepace.State{Is: is, Why: why}
	}
	seen := nodepace.Observation{
		Agent: s.Version, Queue: s.Queue, Policy: a.policyInForce(), Executable: o.executable(),
		Installed: is(s.Conditions.Installed, a.keeperProblem("install")),
		Tested:    is(s.Conditions.Tested, a.keeperProblem("selftest")),
		Listening: is(s.Conditions.Listening, cmp.Or(a.problems.get("socket"), "the agent does not listen on "+a.options.Config.Socket+" yet")),
		PodsKnown: is(s.Conditions.Synced, a.problems.get("pods")),
	}
	return seen, alive
}

// executable is the file in place.
func (o *observer) executable() *v1alpha1.Executable {
	k := o.agent.keeper
	if k == nil {
		return nil
	}
	info, err := os.Stat(k.installer.Target.PluginPath())
	if err != nil {
		o.seen, o.file = nil, nil
		return nil
	}
	if o.seen != nil && os.SameFile(info, o.seen) && info.Size() == o.seen.Size() && info.ModTime().Equal(o.seen.ModTime()) {
		return o.file
	}
	status, err := k.installer.Status()
	if err != nil || time.Since(info.ModTime()) < time.Second { // still being written, perhaps: look again
		o.seen = nil
	} else {
		o.seen = info
	}
	if err == nil {
		o.file = &v1alpha1.Executable{Path: status.InPlace.Path, SHA256: status.InPlace.SHA256}
	}
	return o.file
}

func (a *Agent) keeperProblem(about string) string {
	if a.keeper == nil {
		return ""
	}
	return a.keeper.problems.get(about)
}

// get is the problem with one matter, "" for none.
func (p *problems) get(about string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text[about]
}
