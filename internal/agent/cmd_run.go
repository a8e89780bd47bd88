package agent

import (
	"context"
	"flag"
	"os"
	"runtime"

	"k8s.io/klog/v2"

	"evenkeel.dev/evenkeel/internal/admission"
	"evenkeel.dev/evenkeel/internal/agentconfig"
)

// runFlags go before the configuration file.
type runFlags struct {
	installFlags
	node, kubeconfig, source, socket, listen, taint string
}

func cmdRun(ctx context.Context, s Streams, args []string) error {
	var f runFlags
	set := flag.NewFlagSet("evenkeel-agent run", flag.ContinueOnError)
	f.register(set)
	set.StringVar(&f.executable, "executable", "", "`PATH` of the stand-in; default: evenkeel-cni beside this program")
	set.StringVar(&f.node, "node-name", os.Getenv("NODE_NAME"), "`NAME` of this node; default: $NODE_NAME")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "`FILE` to reach the API server with, outside a pod")
	set.StringVar(&f.source, "source", kubernetesSource, "where pods are known from: kubernetes, or a `DIR` of pod JSON files")
	set.StringVar(&f.socket, "socket", "", "`PATH` of the unix socket or named pipe to serve")
	set.StringVar(&f.listen, "listen", "", "`ADDRESS` of health and metrics, or none")
	set.StringVar(&f.taint, "taint", "", "bootstrap `TAINT` (KEY[=VALUE]:EFFECT) to take off this node once all is ready, or none; default: "+admission.Default().String())
	if err := parse(set, s, args); err != nil {
		return err
	}
	conf, err := agentconfig.Load(f.config, runtime.GOOS)
	if err != nil {
		return err
	}
	o := Options{ConfigFile: f.config, Node: f.node, Kubeconfig: f.kubeconfig, Source: f.source, flags: f}
	o.Config = o.keepFlags(conf)
	var closeLog func()
	o.Log, o.Level, closeLog = newLogger(o.Config.Log, s.Err)
	defer closeLog()
	klog.SetSlogLogger(o.Log.With("from", "client-go"))
	return Serve(ctx, o)
}

// keepFlags lets what the command line says go before the file.
func (o Options) keepFlags(c agentconfig.Config) agentconfig.Config {
	for _, f := range []struct {
		flag string
		into *string
	}{
		{o.flags.binDir, &c.Install.BinDir},
		{o.flags.plugin, &c.Install.Plugin},
		{o.flags.executable, &c.Install.Executable},
		{o.flags.socket, &c.Socket},
		{o.flags.listen, &c.Listen},
	} {
		if f.flag != "" {
			*f.into = f.flag
		}
	}
	if o.flags.plugin != "" {
		on := true
		c.Install.Enabled = &on
	}
	return c
}
