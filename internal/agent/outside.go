package agent

import (
	"fmt"
	"math"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"evenkeel.dev/evenkeel/internal/agent/source"
	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/paceapi"
)

// kubernetesSource is the name of the source that is not a folder.
const kubernetesSource = "kubernetes"

// outside connects what the agent knows pods from and reports on them to.
func (a *Agent) outside() (source.Source, eventSink, func(), error) {
	o := a.options
	if o.sourceName() != kubernetesSource {
		if info, err := os.Stat(o.Source); err != nil || !info.IsDir() {
			return nil, nil, nil, fmt.Errorf("--source %q: want %q or an existing folder of pod files", o.Source, kubernetesSource)
		}
		return source.Dir{Folder: o.Source}, noEvents{}, func() {}, nil
	}
	if o.Node == "" {
		return nil, nil, nil, fmt.Errorf("the name of this node is unknown: give --node-name or set NODE_NAME")
	}
	client, err := newClient(o.Kubeconfig)
	if err != nil {
		return nil, nil, nil, err
	}
	pods := source.API{Client: client, Node: o.Node}
	if !*o.Config.Events {
		return pods, noEvents{}, func() {}, nil
	}
	r := newRecorder(client, o.Node)
	return pods, r, r.stop, nil
}

func newClient(kubeconfig string) (kubernetes.Interface, error) {
	conf, err := newConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(conf)
}

func newConfig(kubeconfig string) (*rest.Config, error) {
	var conf *rest.Config
	var err error
	if kubeconfig != "" {
		conf, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	} else {
		conf, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the API server (give --kubeconfig outside a pod): %w", err)
	}
	conf.UserAgent = "evenkeel-agent/" + version()
	return conf, nil
}

// standInSettings is what stand-ins should go by while there is no agent.
func standInSettings(c agentconfig.Config, cores int) cni.Settings {
	pacing := c.Pace.Defaulted(cores)
	limit := pacing.Limits.MaxConcurrent
	if limit == 0 {
		limit = max(1, int(math.Ceil(pacing.Limits.PerCore*float64(cores))))
	}
	return cni.Settings{
		Socket:  c.Socket,
		Limit:   limit,
		Attempt: paceapi.Millis(pacing.Attempt),
		MaxWait: paceapi.Millis(pacing.MaxWait),

		ExcludeNamespaces: c.Pods.ExcludeNamespaces,
	}
}
