package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// What client-go takes when --client-connection-qps and -burst are 0, as they are by default. The descheduler has the
// same, and so evicts at most five pods a second.
const (
	DefaultQPS   = 5
	DefaultBurst = 10
)

const (
	protobuf = "application/vnd.kubernetes.protobuf"
	jsonType = "application/json"
)

// Connection says how to reach an API server.
type Connection struct {
	// Kubeconfig is a file. When it is empty the service account of the pod is used, or, outside a cluster,
	// what kubectl would use: $KUBECONFIG or ~/.kube/config.
	Kubeconfig string
	Context    string  // of the kubeconfig; empty: its current one
	QPS        float32 // of writes; 0: DefaultQPS, negative: no limit
	Burst      int     // 0: DefaultBurst
	UserAgent  string  // e.g. "evenkeel/v0.1.0"; empty: the executable's
}

// Client talks to one API server.
type Client struct {
	// Write is held back by QPS and Burst: evictions.
	Write kubernetes.Interface
	// Read is not: lists, watches, leases, reviews and Events.
	Read kubernetes.Interface
	// Config is that of Read, for further clients.
	Config *rest.Config
}

// Connect makes a client. It does not talk to the API server yet.
func (c Connection) Connect() (*Client, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	config.ContentType = protobuf
	config.AcceptContentTypes = protobuf + "," + jsonType
	if c.UserAgent != "" {
		config.UserAgent = fmt.Sprintf("%s (%s/%s)", c.UserAgent, runtime.GOOS, runtime.GOARCH)
	}
	client := &Client{Config: rest.CopyConfig(config)}
	client.Config.QPS = -1
	if client.Read, err = kubernetes.NewForConfig(client.Config); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	write := rest.CopyConfig(config)
	write.QPS, write.Burst = c.QPS, c.Burst
	if client.Write, err = kubernetes.NewForConfig(write); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return client, nil
}

func (c Connection) config() (*rest.Config, error) {
	if c.Kubeconfig == "" && c.Context == "" {
		config, err := rest.InClusterConfig()
		if err == nil {
			return config, nil
		}
		if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, fmt.Errorf("use the pod's service account: %w", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.Context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("no cluster to talk to: not in a pod, and no kubeconfig; set --client-connection-kubeconfig or KUBECONFIG")
	case err != nil && c.Kubeconfig != "":
		return nil, fmt.Errorf("read kubeconfig %q: %w", c.Kubeconfig, err)
	case err != nil:
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	return config, nil
}

// ServerVersion asks the API server for its version: the cheapest question that shows it is there.
func (c *Client) ServerVersion(ctx context.Context) (*version.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	info := &version.Info{}
	body, err := c.Read.Discovery().RESTClient().Get().AbsPath("/version").SetHeader("Accept", jsonType).Do(ctx).Raw()
	if apierrors.IsUnauthorized(err) {
		return nil, fmt.Errorf("ask %s for its version: %w%s", c.Config.Host, err, badCredentials)
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", c.Config.Host, err)
	}
	if err := json.Unmarshal(body, info); err != nil {
		return nil, fmt.Errorf("ask %s for its version: the answer is not a Kubernetes version: %w", c.Config.Host, err)
	}
	return info, nil
}

// CheckEviction reports whether the API server offers evictions of policy/v1 (Kubernetes 1.22 and later).
func (c *Client) CheckEviction(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	body, err := c.Read.Discovery().RESTClient().Get().AbsPath("/api/v1").SetHeader("Accept", jsonType).Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("ask %s what it offers: %w", c.Config.Host, err)
	}
	var list struct {
		Resources []struct{ Name, Group, Version, Kind string }
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("ask %s what it offers: %w", c.Config.Host, err)
	}
	for _, r := range list.Resources {
		if r.Name == "pods/eviction" && r.Kind == "Eviction" && r.Group == "policy" && r.Version == "v1" {
			return nil
		}
	}
	return fmt.Errorf("the API server %s does not offer pods/eviction of policy/v1 (Kubernetes 1.22 and later do): nothing can be evicted", c.Config.Host)
}

// builtFor is the minor version of Kubernetes whose API this program was built with: that of the client libraries in go.mod.
const builtFor = 37

// Skew warns when the API server's version is more than three minor versions away from what this program was built for; else it is empty.
func Skew(v *version.Info) string {
	minor, err := strconv.Atoi(strings.TrimRight(v.Minor, "+"))
	if err != nil || v.Major != "1" {
		return fmt.Sprintf("the API server has version %s.%s; this program was built for 1.%d", v.Major, v.Minor, builtFor)
	}
	if diff := minor - builtFor; diff > 3 || diff < -3 {
		return fmt.Sprintf("the API server has version 1.%d; this program was built for 1.%d and may not understand everything", minor, builtFor)
	}
	return ""
}
