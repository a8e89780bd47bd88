package admission_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"os"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"

	"evenkeel.dev/evenkeel/internal/admission"
	"evenkeel.dev/evenkeel/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// kubelet returns a client with the certificate of a node's kubelet, requested and signed as a kubelet's is.
func kubelet(t *testing.T, cluster *harness.Cluster, node string) kubernetes.Interface {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	must(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
	}, key)
	must(t, err)
	requests := cluster.Client.CertificatesV1().CertificateSigningRequests()
	made, err := requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	cluster.Kubectl(t, "certificate", "approve", made.Name)
	harness.Await(t, time.Minute, "certificate of node "+node, func(ctx context.Context) error {
		found, err := requests.Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if made = found; len(made.Status.Certificate) == 0 {
			return errors.New("not signed")
		}
		return nil
	})
	config := rest.AnonymousClientConfig(cluster.Config)
	config.CertData, config.KeyData, config.QPS = made.Status.Certificate, keyPEM, -1
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

// windowsNode is what a kubelet registers. It is brought to life by the fake nodes' controller.
func windowsNode(name string, taints ...corev1.Taint) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels:      map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "windows", corev1.LabelArchStable: "amd64"},
		},
		Spec:   corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity.DeepCopy()},
	}
}

// register creates the node as its kubelet does, and awaits that it is Ready.
func register(t *testing.T, cluster *harness.Cluster, node *corev1.Node) *corev1.Node {
	t.Helper()
	cluster.FreeNodeName(t, node.Name)
	created, err := kubelet(t, cluster, node.Name).CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { cluster.DeleteNode(t, node.Name) })
	cluster.AwaitNode(t, node.Name, corev1.ConditionTrue)
	return created
}

// agent returns a client with the token of an agent's pod on the node.
func agent(t *testing.T, cluster *harness.Cluster, namespace, account, node string) (kubernetes.Interface, *rest.Config) {
	t.Helper()
	_, err := cluster.Client.CoreV1().ServiceAccounts(namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	pod, err := cluster.Client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: account + "-"},
		Spec: corev1.PodSpec{
			NodeName: node, ServiceAccountName: account,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "agent", Image: "example.invalid/agent:1"}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		_ = cluster.Client.CoreV1().Pods(namespace).Delete(context.WithoutCancel(t.Context()), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	})
	token, err := cluster.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}},
	}, metav1.CreateOptions{})
	must(t, err)
	config := rest.AnonymousClientConfig(cluster.Config)
	config.BearerToken, config.QPS = token.Status.Token, -1
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client, config
}

// ours counts the bootstrap taints.
func ours(node *corev1.Node) int {
	n := 0
	for _, taint := range node.Spec.Taints {
		if admission.Default().Matches(taint) {
			n++
		}
	}
	return n
}

func node(t *testing.T, cluster *harness.Cluster, name string) *corev1.Node {
	t.Helper()
	found, err := cluster.Client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	return found
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
