package kube

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// tokenKey is where the descheduler keeps the bearer token in a Secret.
const tokenKey = "prometheusAuthToken"

const (
	tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	maxAnswer = 64 << 20 // bytes
)

// caFiles are trusted beside the system's authorities: the cluster's own, and OpenShift's for services.
func caFiles() []string {
	const dir = "/var/run/secrets/kubernetes.io/serviceaccount/"
	return []string{dir + "ca.crt", dir + "service-ca.crt"}
}

// Token gives the bearer token, anew for each request: tokens are rotated. Empty: none.
type Token func(ctx context.Context) (string, error)

// SecretToken reads the token from a Secret.
func SecretToken(client *Client, namespace, name string) Token {
	return func(ctx context.Context) (string, error) {
		secret, err := client.Read.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("read the token from Secret %s/%s: %w", namespace, name, err)
		}
		token := strings.TrimSpace(string(secret.Data[tokenKey]))
		if token == "" {
			return "", fmt.Errorf("read the token from Secret %s/%s: it has no key %q", namespace, name, tokenKey)
		}
		return token, nil
	}
}

// ServiceAccountToken reads the token of the pod's service account; outside a cluster there is none.
func ServiceAccountToken(ctx context.Context) (string, error) { return FileToken(tokenFile)(ctx) }

// FileToken reads the token from a file, which may be a link that is switched to a new one, as the kubelet does. No file: no token.
func FileToken(path string) Token {
	return func(context.Context) (string, error) {
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		return strings.TrimSpace(string(data)), err
	}
}

// Prometheus asks a Prometheus server instant queries. The answer to each is a vector with a value between 0 and 1 for each node, whose name
// is in the label "instance". A query that fails says so in its own answer; nodes without a value are problems of the usage, as with
// [KubernetesMetrics].
type Prometheus struct {
	URL     string
	Queries []string
	Token   Token // nil: none
	// CAFiles hold authorities to trust beside the system's; nil: those of the cluster, as its pods see them. A file that is not
	// there is left out.
	CAFiles []string
	// Timeout is for each query; 0: a minute.
	Timeout time.Duration
}

// Usage implements [UsageFunc].
func (p *Prometheus) Usage(ctx context.Context, _ *cluster.Resources, nodes []*cluster.NodeInfo) (cluster.Usage, error) {
	answers := make([]cluster.Answer, len(p.Queries))
	problems := make([][]string, len(p.Queries))
	var asking sync.WaitGroup
	for i, query := range p.Queries {
		asking.Go(func() { answers[i], problems[i] = p.answer(ctx, query, nodes) })
	}
	asking.Wait()
	usage := cluster.Usage{Queries: make(map[string]cluster.Answer, len(p.Queries)), Problems: slices.Concat(problems...)}
	for i, query := range p.Queries {
		usage.Queries[query] = answers[i]
	}
	return usage, nil
}

// answer asks one query.
func (p *Prometheus) answer(ctx context.Context, query string, nodes []*cluster.NodeInfo) (cluster.Answer, []string) {
	timeout := cmp.Or(p.Timeout, usageTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	samples, err := p.ask(ctx, query)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return cluster.Answer{Failed: fmt.Sprintf("Prometheus %s: %v", redacted(p.URL), err)}, nil
	}
	values, problems := byNode(fmt.Sprintf("Prometheus query %q", query), samples, nodes)
	return cluster.Answer{Nodes: values}, problems
}

// sample is one element of a vector.
type sample struct {
	Metric map[string]string  `json:"metric"`
	Value  [2]json.RawMessage `json:"value"` // time, and the value in quotes
}

// byNode picks a value for each node. A node with two values, and a value that is no share, count as not measured. There is one problem for
// each of these causes, however many nodes it has, and a node has one cause.
func byNode(source string, samples []sample, nodes []*cluster.NodeInfo) (map[string]float64, []string) {
	byName := make(map[string][]*sample, len(nodes))
	for _, n := range nodes {
		byName[n.Name] = nil
	}
	foreign, example := 0, ""
	for i := range samples {
		name := samples[i].Metric["instance"]
		if _, known := byName[name]; known {
			byName[name] = append(byName[name], &samples[i])
			continue
		}
		if foreign++; foreign == 1 || name < example {
			example = name
		}
	}
	values := map[string]float64{}
	var missing, several, bad affected
	for name, found := range byName {
		switch {
		case len(found) == 0:
			missing.add(name, "there is no measurement of node "+name)
		case len(found) > 1:
			several.add(name, "it gives several values for node "+name+"; aggregate it by the label instance")
		default:
			v, err := found[0].value()
			if err != nil {
				bad.add(name, fmt.Sprintf("node %s: %v", name, err))
				continue
			}
			values[name] = v
		}
	}
	problems := slices.Concat(bad.problem(source, len(byName)), several.problem(source, len(byName)), missing.problem(source, len(byName)))
	if foreign > 0 {
		problems = append(problems, fmt.Sprintf("%s: the label instance of %d values is not the name of a node, such as %q", source, foreign, example))
	}
	return values, problems
}

func (s *sample) value() (float64, error) {
	var text string
	if err := json.Unmarshal(s.Value[1], &text); err != nil {
		return 0, fmt.Errorf("the value %s is not a number in quotes", s.Value[1])
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1 {
		return 0, fmt.Errorf("the value %s is not between 0 and 1", text)
	}
	return v, nil
}

// ask asks by POST, which has room for long queries, and by GET where that is not allowed or not known, as the descheduler's client does.
func (p *Prometheus) ask(ctx context.Context, query string) ([]sample, error) {
	endpoint, err := url.Parse(p.URL)
	if err != nil {
		return nil, err
	}
	endpoint = endpoint.JoinPath("api", "v1", "query")
	form := url.Values{"query": {query}, "timeout": {cmp.Or(p.Timeout, usageTimeout).String()}}
	authorities := p.CAFiles
	if authorities == nil {
		authorities = caFiles()
	}
	client, err := trusting(authorities)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	client.CheckRedirect = func(next *http.Request, before []*http.Request) error { return redirect(next, before, form) }
	code, samples, err := p.exchange(ctx, client, http.MethodPost, endpoint, form)
	if code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented {
		_, samples, err = p.exchange(ctx, client, http.MethodGet, endpoint, form)
	}
	return samples, err
}

// exchange sends one request and reads its answer; the status is 0 if there is none.
func (p *Prometheus) exchange(ctx context.Context, client *http.Client, method string, endpoint *url.URL, form url.Values) (int, []sample, error) {
	body := ""
	if method == http.MethodPost {
		body = form.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, endpoint.String(), strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		inAddress(request, form)
	}
	if err := p.authorize(ctx, request); err != nil {
		return 0, nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, nil, withoutURL(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return answer.StatusCode, nil, fmt.Errorf("read the answer: %w", err)
	}
	samples, err := vector(answer.StatusCode, data)
	if last := answer.Request; err != nil && !trusts(endpoint, last.URL) {
		err = fmt.Errorf("redirected to %s://%s, where no token is sent: %w", last.URL.Scheme, last.URL.Host, err)
	}
	return answer.StatusCode, samples, err
}

func (p *Prometheus) authorize(ctx context.Context, r *http.Request) error {
	if p.Token == nil {
		return nil
	}
	token, err := p.Token(ctx)
	if err == nil && token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return err
}

// vector takes the samples out of an answer; see https://prometheus.io/docs/prometheus/latest/querying/api/.
func vector(code int, body []byte) ([]sample, error) {
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   struct {
			ResultType string          `json:"resultType"`
			Result     json.RawMessage `json:"result"`
		} `json:"data"`
	}
	err := json.Unmarshal(body, &answer)
	switch {
	case err == nil && answer.Error != "":
		return nil, fmt.Errorf("HTTP status %d: %s", code, answer.Error)
	case code != http.StatusOK:
		return nil, fmt.Errorf("HTTP status %d", code)
	case err != nil:
		return nil, fmt.Errorf("the answer is not that of a Prometheus query: %w", err)
	case answer.Status != "success" || answer.Data.ResultType != "vector":
		return nil, fmt.Errorf("the answer is a %q with status %q, expected a vector with status success", answer.Data.ResultType, answer.Status)
	}
	var samples []sample
	if err := json.Unmarshal(answer.Data.Result, &samples); err != nil {
		return nil, fmt.Errorf("the vector can't be read: %w", err)
	}
	return samples, nil
}

// trusting returns a client for one exchange.
func trusting(files []string) (*http.Client, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificate authorities: %w", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read certificate authorities: %w", err)
		}
		pool.AppendCertsFromPEM(data)
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: 10 * time.Second,
		},
	}, nil
}

// withoutURL drops the address from an error of the HTTP client: it may hold a password, and is told already.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(its URL can't be read)"
	}
	return u.Redacted()
}
