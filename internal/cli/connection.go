package cli

import (
	"log/slog"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"evenkeel.dev/evenkeel/internal/kube"
)

// connection is the live cluster that a command of the user's looks at.
type connection struct {
	kubeconfig string
	context    string
}

func (c *connection) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig `FILE`; without it: the pod's service account, KUBECONFIG or ~/.kube/config")
	flags.StringVar(&c.context, "context", "", "`NAME` of the kubeconfig's context; default: its current one")
}

// connect makes a client. What client-go would write to standard error by itself, beside the error that it returns, is left out.
func (c *connection) connect() (*kube.Client, error) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	return kube.Connection{Kubeconfig: c.kubeconfig, Context: c.context, UserAgent: userAgent()}.Connect()
}
