package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"evenkeel.dev/evenkeel/internal/admission"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/webhook"
)

const webhookHelp = `Webhook puts the bootstrap taint on new nodes: it answers the AdmissionReviews that the API server sends for a
MutatingWebhookConfiguration (deploy/kustomize/admission/webhook). Where the API server serves MutatingAdmissionPolicy, as
Kubernetes 1.36 and later do, the policy in deploy/kustomize/admission/policy does the same without a server.

It makes its own certificates, keeps them in a Secret that its replicas share, renews them, and publishes the authority in the
configuration's caBundle. Of the configuration it owns nothing else; which nodes are tainted is up to its objectSelector.

Exit status: 0 told to stop; 1 the port can't be used, no cluster; 2 bad usage.`

// webhookFlags are the command's flags.
type webhookFlags struct {
	kubeconfig, namespace, service, secret, configuration, listen string
	hosts                                                         []string
	taint                                                         admission.Taint
	life                                                          webhook.Lifetimes
	every, drain                                                  time.Duration
}

func newWebhookCommand(streams Streams) *cobra.Command {
	flags := webhookFlags{taint: admission.Default()}
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Put the bootstrap taint on new nodes, as an admission webhook",
		Long:  webhookHelp,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.validate(); err != nil {
				return usageError(err)
			}
			return flags.run(cmd.Context(), streams)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.kubeconfig, "kubeconfig", "", "kubeconfig file; default: the pod's service account, else kubectl's")
	f.StringVar(&flags.namespace, "namespace", podNamespace(), "namespace of the Service and the Secret")
	f.StringVar(&flags.service, "service", "evenkeel-webhook", "Service that leads here; the certificate is for its names")
	f.StringSliceVar(&flags.hosts, "host", nil, "further DNS name or IP address for the certificate, e.g. of a configuration with a URL")
	f.StringVar(&flags.secret, "secret", "evenkeel-webhook", "Secret for the keys; made if missing")
	f.StringVar(&flags.configuration, "webhook-configuration", "evenkeel-bootstrap-taint", "MutatingWebhookConfiguration whose caBundle is kept")
	f.StringVar(&flags.listen, "listen", ":9443", "address and port")
	f.Var(&flags.taint, "taint", "the taint, KEY[=VALUE]:EFFECT")
	f.DurationVar(&flags.life.Certificate, "certificate-life", 90*24*time.Hour, "life of a serving certificate; it is renewed after two thirds")
	f.DurationVar(&flags.life.Authority, "authority-life", 365*24*time.Hour, "life of a certificate authority; it is renewed after two thirds")
	f.DurationVar(&flags.life.Settle, "settle", time.Minute, "time from publishing a new authority to using it")
	f.DurationVar(&flags.every, "check-interval", 30*time.Second, "how often certificates and configuration are looked at")
	f.DurationVar(&flags.drain, "drain", 5*time.Second, "how long to go on answering when told to stop")
	return cmd
}

// podNamespace is the namespace that the manifests tell; kube-system otherwise.
func podNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	return "kube-system"
}

func (f *webhookFlags) validate() error {
	var problems []error
	for _, d := range []struct {
		flag      string
		value, at time.Duration
	}{
		{"certificate-life", f.life.Certificate, 5 * time.Second},
		{"check-interval", f.every, 10 * time.Millisecond},
		{"settle", f.life.Settle, 0},
		{"drain", f.drain, 0},
	} {
		if d.value < d.at {
			problems = append(problems, fmt.Errorf("--%s %s: want at least %s", d.flag, d.value, d.at))
		}
	}
	if f.life.Authority < 3*f.life.Certificate {
		problems = append(problems, fmt.Errorf("--authority-life %s: want at least three times --certificate-life, %s", f.life.Authority, 3*f.life.Certificate))
	}
	if f.life.Settle+f.every > f.life.Authority/10 {
		problems = append(problems, fmt.Errorf("--settle %s and --check-interval %s: want together at most a tenth of --authority-life, %s",
			f.life.Settle, f.every, f.life.Authority/10))
	}
	if f.namespace == "" || f.service == "" || f.secret == "" || f.configuration == "" {
		problems = append(problems, errors.New("--namespace, --service, --secret and --webhook-configuration must not be empty"))
	}
	return errors.Join(problems...)
}

// names are what the certificate is for: the API server asks for the first.
func (f *webhookFlags) names() []string {
	name := f.service + "." + f.namespace + ".svc"
	return append([]string{name, f.service + "." + f.namespace, name + ".cluster.local"}, f.hosts...)
}

func (f *webhookFlags) run(ctx context.Context, streams Streams) error {
	log := slog.New(slog.NewTextHandler(streams.Err, nil))
	client, err := kube.Connection{Kubeconfig: f.kubeconfig, UserAgent: userAgent()}.Connect()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("take the port (--listen): %w", err)
	}
	log.Info("listening", "address", listener.Addr(), "taint", f.taint.String(), "names", strings.Join(f.names(), ","))

	keeper := f.keeper(client.Read, log)
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx)) // goes on while the server drains
	var kept sync.WaitGroup
	kept.Go(func() { keeper.Run(keeping) })
	defer kept.Wait()
	defer stop()
	server := &webhook.Server{Taint: f.taint, Certificate: keeper.Certificate, Ready: keeper.Ready, Drain: f.drain, Log: log}
	return server.Serve(ctx, listener)
}

func (f *webhookFlags) keeper(client kubernetes.Interface, log *slog.Logger) *webhook.Keeper {
	return &webhook.Keeper{
		Secret:        webhook.Secret{Client: client, Namespace: f.namespace, Name: f.secret},
		Configuration: webhook.Configuration{Client: client, Name: f.configuration},
		Hosts:         f.names(),
		Lifetimes:     f.life,
		Every:         f.every,
		Log:           log,
	}
}
