package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// DefaultPort is the descheduler's.
const DefaultPort = 10258

// Options say where and how to serve. Names and defaults of their flags are those of Kubernetes components.
type Options struct {
	BindAddress          net.IP
	Port                 int // 0: do not serve
	CertDir              string
	CertFile, KeyFile    string
	CipherSuites         []string
	MinTLSVersion        string
	CurvePreferences     []int32
	SNICertKeys          []cliflag.NamedCertKey
	HTTP2MaxStreams      int
	DisableHTTP2         bool
	EnableHTTP2          bool
	PermitPortSharing    bool
	PermitAddressSharing bool
	// AnonymousMetrics serves /metrics to everybody who gets through, as the descheduler does.
	AnonymousMetrics bool
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{BindAddress: net.IPv4zero, Port: DefaultPort}
}

// AddFlags binds the options.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.IPVar(&o.BindAddress, "bind-address", o.BindAddress, "address to listen on; 0.0.0.0 and :: mean all")
	fs.IntVar(&o.Port, "secure-port", o.Port, "port that serves /healthz and /metrics over HTTPS; 0 serves nothing")
	fs.StringVar(&o.CertDir, "cert-dir", o.CertDir,
		"folder for the self-signed certificate (evenkeel.crt, evenkeel.key) that is made when there is no --tls-cert-file; empty keeps it in memory")
	fs.StringVar(&o.CertFile, "tls-cert-file", o.CertFile, "certificate to serve with, and its chain; read again when it changes")
	fs.StringVar(&o.KeyFile, "tls-private-key-file", o.KeyFile, "private key of --tls-cert-file")
	fs.StringSliceVar(&o.CipherSuites, "tls-cipher-suites", o.CipherSuites,
		"cipher suites to offer below TLS 1.3; empty: Go's. Preferred: "+strings.Join(cliflag.PreferredTLSCipherNames(), ", ")+
			". Insecure: "+strings.Join(cliflag.InsecureTLSCipherNames(), ", "))
	fs.Int32SliceVar(&o.CurvePreferences, "tls-curve-preferences", o.CurvePreferences, "numbers of the key exchange mechanisms to allow; empty: Go's")
	fs.StringVar(&o.MinTLSVersion, "tls-min-version", o.MinTLSVersion, "lowest TLS version: "+strings.Join(cliflag.TLSPossibleVersions(), ", "))
	fs.Var(cliflag.NewNamedCertKeyArray(&o.SNICertKeys), "tls-sni-cert-key",
		"certificate and key for further server names, e.g. foo.crt,foo.key or foo.crt,foo.key:*.foo.com,foo.com; may be repeated")
	fs.IntVar(&o.HTTP2MaxStreams, "http2-max-streams-per-connection", o.HTTP2MaxStreams, "most streams of an HTTP/2 connection; 0: Go's default")
	fs.BoolVar(&o.EnableHTTP2, "enable-http2", o.EnableHTTP2, "serve HTTP/2 too")
	fs.BoolVar(&o.DisableHTTP2, "disable-http2-serving", o.DisableHTTP2, "never serve HTTP/2")
	fs.BoolVar(&o.PermitPortSharing, "permit-port-sharing", o.PermitPortSharing, "let several processes listen on the port (SO_REUSEPORT)")
	fs.BoolVar(&o.PermitAddressSharing, "permit-address-sharing", o.PermitAddressSharing, "do not wait for sockets in TIME_WAIT (SO_REUSEADDR)")
	fs.BoolVar(&o.AnonymousMetrics, "anonymous-metrics", o.AnonymousMetrics,
		"serve /metrics without asking who reads it, as the descheduler does; otherwise a bearer token that may get the URL /metrics is needed")
}

// Validate checks what can be checked without the network.
func (o *Options) Validate() error {
	var errs []error
	if o.Port < 0 || o.Port > 65535 {
		errs = append(errs, fmt.Errorf("--secure-port %d: must be 0 (do not serve) to 65535", o.Port))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file go together"))
	}
	if _, err := o.tlsConfig(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// tlsConfig is the configuration without certificates.
func (o *Options) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if o.MinTLSVersion != "" {
		version, err := cliflag.TLSVersion(o.MinTLSVersion)
		if err != nil {
			return nil, fmt.Errorf("--tls-min-version: %w", err)
		}
		config.MinVersion = version
	}
	if len(o.CipherSuites) > 0 {
		suites, err := cliflag.TLSCipherSuites(o.CipherSuites)
		if err != nil {
			return nil, fmt.Errorf("--tls-cipher-suites: %w", err)
		}
		config.CipherSuites = suites
	}
	for _, c := range o.CurvePreferences {
		config.CurvePreferences = append(config.CurvePreferences, tls.CurveID(c)) //nolint:gosec // numbers of a registry, all below 65536
	}
	if o.http2() {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	return config, nil
}

func (o *Options) http2() bool { return o.EnableHTTP2 && !o.DisableHTTP2 }
