package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"evenkeel.dev/evenkeel/internal/admission"
)

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

func configuration() *admissionregistrationv1.MutatingWebhookConfiguration {
	effects := admissionregistrationv1.SideEffectClassNone
	url := "https://127.0.0.1/taint"
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "taint", Labels: map[string]string{"kept": "yes"}},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "taint.evenkeel.dev", SideEffects: &effects, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url},
		}},
	}
}

func newKeeper(client kubernetes.Interface) *Keeper {
	return &Keeper{
		Secret: Secret{client, "ns", "keys"}, Configuration: Configuration{client, "taint"},
		Hosts: hosts(), Lifetimes: lifetimes(), Every: time.Minute, Log: silent(),
	}
}

func currentBundle(t *testing.T, client kubernetes.Interface) []byte {
	t.Helper()
	found, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "taint", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found.Webhooks[0].ClientConfig.CABundle
}

func TestReplicasThatStartTogetherAgreeOnOneAuthority(t *testing.T) {
	client := fake.NewClientset(configuration())
	keepers := make([]*Keeper, 5)
	var started sync.WaitGroup
	for i := range keepers {
		keepers[i] = newKeeper(client)
		started.Go(func() {
			for {
				err := keepers[i].look(context.Background(), time.Now())
				if err == nil {
					return
				}
				if !errors.Is(err, errLost) {
					t.Error(err)
					return
				}
			}
		})
	}
	started.Wait()
	for i, keeper := range keepers {
		_ = keeper.look(t.Context(), time.Now())
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(currentBundle(t, client))
		cert, err := keeper.Certificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cert.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: hosts()[0]}); err != nil {
			t.Errorf("replica %d: %v", i, err)
		}
	}
}

func TestBundleThatWasTakenAwayComesBackAndTheRestIsLeftAlone(t *testing.T) {
	client := fake.NewClientset(configuration())
	keeper := newKeeper(client)
	if err := keeper.look(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	bundle := currentBundle(t, client)
	changed := configuration()
	changed.Labels["another"] = "label"
	if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := keeper.look(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if len(bundle) == 0 || !bytes.Equal(currentBundle(t, client), bundle) {
		t.Error("the bundle did not come back")
	}
	found, _ := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "taint", metav1.GetOptions{})
	if found.Labels["another"] != "label" || found.Labels["kept"] != "yes" || *found.Webhooks[0].ClientConfig.URL != "https://127.0.0.1/taint" {
		t.Errorf("more than the bundle changed: %+v", found)
	}
}

// TestKeeperRenewsByItself lets half a year pass in a bubble of fake time, which also holds that nothing goes on after the end. For a day in
// it the API server refuses everything.
func TestKeeperRenewsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(configuration())
		var refusing atomic.Bool
		client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return refusing.Load(), nil, errors.New("no")
		})
		keeper := newKeeper(client)
		keeper.Every = 12 * time.Hour
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { keeper.Run(ctx); close(ended) }()
		certificates := map[string]bool{}
		for day := range 170 { // not 180: a renewal is due at that very instant
			time.Sleep(24 * time.Hour)
			refusing.Store(day == 30)
			if err := keeper.Ready(); err != nil {
				t.Fatalf("day %d: %v", day, err)
			}
			cert, _ := keeper.Certificate(nil)
			certificates[string(cert.Certificate[0])] = true
		}
		if len(certificates) != 3 {
			t.Errorf("%d certificates of 90 days in 170 days, want one every 60", len(certificates))
		}
		stop()
		<-ended
	})
}

func TestWithoutAConfigurationNoneIsMadeAndTheServerIsReady(t *testing.T) {
	client := fake.NewClientset()
	keeper := newKeeper(client)
	if err := keeper.Ready(); err == nil {
		t.Error("ready before the first look")
	}
	if err := keeper.look(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	list, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 || keeper.Ready() != nil {
		t.Errorf("%d configurations, %v; ready: %v", len(list.Items), err, keeper.Ready())
	}
}

// TestServerDrainsWhenToldToStop talks to a server that was told: it answers, and says that it is not ready, until the drain ends.
func TestServerDrainsWhenToldToStop(t *testing.T) {
	keeper := newKeeper(fake.NewClientset())
	if err := keeper.look(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &Server{Taint: admission.Default(), Certificate: keeper.Certificate, Ready: keeper.Ready, Drain: 2 * time.Second, Log: silent()}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	url := "https://" + listener.Addr().String()

	review := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"a"}}`
	for _, step := range []struct {
		path, body string
		status     int
	}{
		{"/readyz", "", 200},
		{"/healthz", "", 200},
		{Path, review, 200},
		{Path + "?timeout=2s", review, 200},
		{Path, "{}", 400},
		{Path, strings.Repeat("x", admission.MaxBody+10), 413},
		{Path, "", 405},
		{"/", "", 404},
	} {
		if got := status(t, client, url+step.path, step.body); got != step.status {
			t.Errorf("%s: %d, want %d", step.path, got, step.status)
		}
	}
	stop()
	for status(t, client, url+"/readyz", "") != 503 { // until it has heard
	}
	if got := status(t, client, url+Path, review); got != 200 {
		t.Errorf("while draining: %d", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func status(t *testing.T, client *http.Client, url, body string) int {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}
