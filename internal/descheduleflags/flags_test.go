package descheduleflags_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"evenkeel.dev/evenkeel/internal/descheduleflags"
)

func parse(t *testing.T, args ...string) (*descheduleflags.Flags, *pflag.FlagSet, error) {
	t.Helper()
	f, err := descheduleflags.New()
	if err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		return f, fs, descheduleflags.ExplainUnknown(err)
	}
	return f, fs, f.Complete()
}

func TestNamesAndDefaultsAreTheDeschedulers(t *testing.T) {
	_, fs, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"policy-config-file": "", "descheduling-interval": "0s", "dry-run": "false", "kubeconfig": "", "disable-metrics": "false",
		"client-connection-kubeconfig": "", "client-connection-qps": "0", "client-connection-burst": "0", "feature-gates": "", "enable-http2": "false",
		"otel-collector-endpoint": "", "otel-transport-ca-cert": "", "otel-service-name": "descheduler", "otel-trace-namespace": "",
		"otel-sample-rate": "1", "otel-fallback-no-op-on-error": "false",
		"leader-elect": "false", "leader-elect-lease-duration": "2m17s", "leader-elect-renew-deadline": "1m47s", "leader-elect-retry-period": "26s",
		"leader-elect-resource-lock": "leases", "leader-elect-resource-name": "descheduler", "leader-elect-resource-namespace": "kube-system",
		"secure-port": "10258", "bind-address": "0.0.0.0", "cert-dir": "", "tls-cert-file": "", "tls-private-key-file": "", "tls-cipher-suites": "[]",
		"tls-min-version": "", "tls-sni-cert-key": "[]", "http2-max-streams-per-connection": "0", "permit-port-sharing": "false",
		"permit-address-sharing": "false", "disable-http2-serving": "false",
		"v": "0", "vmodule": "", "logging-format": "text", "log-flush-frequency": "5s", "log-text-split-stream": "false", "log-json-split-stream": "false",
		"log-text-info-buffer-size": "0", "log-json-info-buffer-size": "0",
	} {
		flag := fs.Lookup(name)
		if flag == nil {
			t.Errorf("--%s: not there", name)
		} else if flag.DefValue != value {
			t.Errorf("--%s: default %q, want %q", name, flag.DefValue, value)
		}
	}
}

func TestArgumentsOfTheDeschedulersManifestsAreTaken(t *testing.T) {
	for _, args := range [][]string{
		{"--policy-config-file", "/policy-dir/policy.yaml", "--v", "3"},
		{"--policy-config-file=/policy-dir/policy.yaml", "--descheduling-interval", "5m", "--v=3"},
		{"--policy-config-file=/policy-dir/policy.yaml", "-v=4", "--dry-run", "--secure-port=0", "--logging-format=json"},
		{
			"--feature-gates=EvictionsInBackground=true", "--descheduling-interval=5m", "--leader-elect=true", "--leader-elect-lease-duration=15s",
			"--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=2s", "--leader-elect-resource-namespace=kube-system",
		},
		{"--kubeconfig=old", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "--tls-min-version=VersionTLS13"},
	} {
		if _, _, err := parse(t, args...); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestOldKubeconfigFlagStillWorks(t *testing.T) {
	f, _, err := parse(t, "--kubeconfig=old")
	if err != nil || f.Connection.Kubeconfig != "old" {
		t.Errorf("got %q, %v", f.Connection.Kubeconfig, err)
	}
}

func TestBadFlagsAreNamed(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--leader-elect", "--descheduling-interval"},
		{"--leader-elect --descheduling-interval=5m --leader-elect-lease-duration=1s", "--leader-elect-lease-duration 1s"},
		{"--leader-elect --descheduling-interval=5m --leader-elect-resource-lock=endpoints", `"endpoints"`},
		{"--descheduling-interval=-1s", "--descheduling-interval -1s"},
		{"--secure-port=70000", "--secure-port 70000"},
		{"--tls-cert-file=x", "go together"},
		{"--tls-min-version=VersionTLS9", "--tls-min-version"},
		{"--logging-format=xml", "--logging-format"},
		{"--compat=other", "--compat"},
		{"--otel-sample-rate=2", "--otel-sample-rate 2"},
		{"--feature-gates=NoSuch=true", "NoSuch"},
		{"--evict-local-storage-pods", "evictLocalStoragePods"},
		{"--node-selector=a=b", "nodeSelector at the top level"},
		{"--max-pods-to-evict-per-node=3", "maxNoOfPodsToEvictPerNode"},
	} {
		if _, _, err := parse(t, strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.args, err, c.want)
		}
	}
}

func TestAllProblemsAreToldAtOnce(t *testing.T) {
	_, _, err := parse(t, "--descheduling-interval=-1s", "--secure-port=-3", "--logging-format=xml")
	if n := strings.Count(err.Error(), "\n") + 1; n != 3 {
		t.Errorf("%d lines, want 3:\n%v", n, err)
	}
}

func TestKubernetesLibrariesLogThroughTheSameLogger(t *testing.T) {
	var out bytes.Buffer
	f, _, err := parse(t, "--logging-format=json", "-v=4")
	if err != nil {
		t.Fatal(err)
	}
	log, err := f.Logging.Logger(&out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(klog.ClearLogger)
	log.Debug("ours", "took", time.Second)
	klog.V(4).InfoS("theirs", "pod", "a")
	klog.V(5).InfoS("too much")
	for _, want := range []string{`"msg":"ours"`, `"msg":"theirs","pod":"a"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "too much") {
		t.Error("-v=4 shows V(5)")
	}
}
