package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Token returns a token of the service account, good for an hour, as a pod
// that runs under it would hold.
func (c *Cluster) Token(t testing.TB, namespace, account string) string {
	t.Helper()
	c.awaitServiceAccount(t, namespace, account)
	answer, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("a token for service account %s/%s: %v", namespace, account, err)
	}
	return answer.Status.Token
}

// ConfigFor returns a client configuration that holds the account's token and
// nothing of the administrator's.
func (c *Cluster) ConfigFor(t testing.TB, namespace, account string) *rest.Config {
	t.Helper()
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken = c.Token(t, namespace, account)
	config.QPS = -1
	return config
}

// ClientFor returns a client that acts as the service account.
func (c *Cluster) ClientFor(t testing.TB, namespace, account string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.ConfigFor(t, namespace, account))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// KubeconfigFor writes a kubeconfig that holds the account's token and
// nothing else, and returns its path.
func (c *Cluster) KubeconfigFor(t testing.TB, namespace, account string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData}
	config.AuthInfos["account"] = &clientcmdapi.AuthInfo{Token: c.Token(t, namespace, account)}
	config.Contexts["context"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "account", Namespace: namespace}
	config.CurrentContext = "context"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *Cluster) awaitServiceAccount(t testing.TB, namespace, account string) {
	t.Helper()
	Await(t, time.Minute, fmt.Sprintf("service account %s/%s", namespace, account), func(ctx context.Context) error {
		_, err := c.Client.CoreV1().ServiceAccounts(namespace).Get(ctx, account, metav1.GetOptions{})
		return err
	})
}
