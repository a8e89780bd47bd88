package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	certutil "k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// certificates fills in config's certificates: files are read again when they change, until ctx is done.
func (o *Options) certificates(ctx context.Context, config *tls.Config) error {
	if o.CertFile == "" {
		cert, err := o.selfSigned()
		if err != nil {
			return err
		}
		config.Certificates = []tls.Certificate{cert}
	}
	named, err := o.watched(ctx)
	if err != nil || len(named) == 0 {
		return err
	}
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		for _, n := range named {
			if n.serves(hello) {
				return n.get(hello)
			}
		}
		return nil, nil // the self-signed one, if there is one
	}
	return nil
}

// served is a certificate from files and the names it is for; no names: whatever it says itself, and all others.
type served struct {
	names []string
	get   func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	last  bool // for all names that nothing else is for
}

func (s *served) serves(hello *tls.ClientHelloInfo) bool {
	for _, n := range s.names {
		if n == hello.ServerName || strings.HasPrefix(n, "*.") && strings.HasSuffix(hello.ServerName, n[1:]) {
			return true
		}
	}
	if s.last {
		return true
	}
	cert, err := s.get(hello)
	return err == nil && len(s.names) == 0 && hello.SupportsCertificate(cert) == nil
}

func (o *Options) watched(ctx context.Context) ([]*served, error) {
	pairs := o.SNICertKeys
	if o.CertFile != "" {
		pairs = append(pairs[:len(pairs):len(pairs)], cliflag.NamedCertKey{CertFile: o.CertFile, KeyFile: o.KeyFile})
	}
	var all []*served
	for i, pair := range pairs {
		watcher, err := certwatcher.New(pair.CertFile, pair.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the serving certificate %q and key %q: %w", pair.CertFile, pair.KeyFile, err)
		}
		go func() { _ = watcher.Start(ctx) }() // its error is that ctx is done; it logs what else goes wrong
		all = append(all, &served{names: pair.Names, get: watcher.GetCertificate, last: o.CertFile != "" && i == len(pairs)-1})
	}
	return all, nil
}

// selfSigned makes a certificate for this host, or takes the one that was made before from CertDir.
func (o *Options) selfSigned() (tls.Certificate, error) {
	host := "localhost"
	if !o.BindAddress.IsUnspecified() && o.BindAddress != nil {
		host = o.BindAddress.String()
	}
	if o.CertDir == "" {
		certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
		if err != nil {
			return tls.Certificate{}, fmt.Errorf("make a self-signed certificate: %w", err)
		}
		return tls.X509KeyPair(certPEM, keyPEM)
	}
	certFile, keyFile := filepath.Join(o.CertDir, "evenkeel.crt"), filepath.Join(o.CertDir, "evenkeel.key")
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return cert, err
	}
	certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a self-signed certificate: %w", err)
	}
	if err := errors.Join(
		os.MkdirAll(o.CertDir, 0o755),
		os.WriteFile(keyFile, keyPEM, 0o600),
		os.WriteFile(certFile, certPEM, 0o644), //nolint:gosec // a certificate is public
	); err != nil {
		return tls.Certificate{}, fmt.Errorf("keep the self-signed certificate in --cert-dir: %w", err)
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}
