package webhook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"time"
)

// The entries of the Secret.
const (
	bundleEntry  = "ca.crt" // what is published: the signing authority first
	signerEntry  = "ca.key" // of the first in the bundle
	nextEntry    = "next.crt"
	nextKeyEntry = "next.key"
	certEntry    = "tls.crt"
	keyEntry     = "tls.key"
)

// Keys are the entries of the Secret, as PEM. They may hold anything: what can't be used is made anew.
type Keys map[string][]byte

// Lifetimes are how long things made by [Keys.Renew] hold.
type Lifetimes struct {
	Authority   time.Duration // default a year
	Certificate time.Duration // default 90 days; less than a third of Authority
	// Settle is how long after an authority was published the API server is taken to know it. Default a minute.
	Settle time.Duration
}

// Renew returns keys of which nothing is due, and whether that is a change. published is the bundle that the API server
// is told at present: an authority is put to use only when it is among those. It does not change k.
//
// A single call makes all that is due at once, but never publishes an authority and signs by it in one step, unless
// there is none that could be used.
func (k Keys) Renew(now time.Time, published []byte, hosts []string, life Lifetimes) (Keys, bool, error) {
	r := renewal{now: now, life: life, hosts: hosts}
	r.read(k)
	if err := r.renew(published); err != nil {
		return nil, false, err
	}
	if !r.changed {
		return k, false, nil
	}
	renewed, err := r.write()
	return renewed, true, err
}

// Bundle is what to publish: the signing authority, the next one and those that were, as long as they hold.
func (k Keys) Bundle() []byte {
	var bundle []byte
	for _, cert := range decodeCerts(slices.Concat(k[bundleEntry], []byte("\n"), k[nextEntry])) {
		bundle = append(bundle, encodeCert(cert)...)
	}
	return bundle
}

// Serving is the certificate for the server.
func (k Keys) Serving() (tls.Certificate, error) {
	return tls.X509KeyPair(k[certEntry], k[keyEntry])
}

// renewal is the keys, decoded.
type renewal struct {
	now   time.Time
	life  Lifetimes
	hosts []string

	signer, next, serving *pair
	former                []*x509.Certificate // authorities that still hold
	changed               bool
}

func (r *renewal) read(k Keys) {
	r.signer = r.usable(k[bundleEntry], k[signerEntry])
	r.next = r.usable(k[nextEntry], k[nextKeyEntry])
	r.serving = r.usable(k[certEntry], k[keyEntry])
	r.changed = r.next == nil && len(k[nextEntry]) > 0
	for i, cert := range decodeCerts(k[bundleEntry]) {
		if i == 0 && r.signer != nil {
			continue
		}
		if r.now.Before(cert.NotAfter) && cert.IsCA {
			r.former = append(r.former, cert)
		} else {
			r.changed = true
		}
	}
}

// usable returns nil for what is damaged or does not hold now.
func (r *renewal) usable(certPEM, keyPEM []byte) *pair {
	p, ok := decodePair(certPEM, keyPEM)
	if !ok || !r.now.Before(p.cert.NotAfter) || r.now.Before(p.cert.NotBefore) {
		return nil
	}
	return &p
}

func (r *renewal) renew(published []byte) error {
	if err := r.renewAuthority(published); err != nil {
		return err
	}
	if r.serving != nil && !r.due(r.serving.cert) && r.fits(r.serving.cert) {
		return nil
	}
	serving, err := r.signer.issue(r.hosts, r.now, r.life.Certificate)
	r.serving, r.changed = &serving, true
	return err
}

func (r *renewal) renewAuthority(published []byte) error {
	switch {
	case r.signer == nil && r.next != nil, r.next != nil && r.settled(published):
		if r.signer != nil {
			r.former = append(r.former, r.signer.cert)
		}
		r.signer, r.next = r.next, nil
		r.serving = nil // by the old authority
		r.changed = true
	case r.signer == nil:
		made, err := newAuthority(r.now, r.life.Authority)
		if err != nil {
			return err
		}
		r.signer, r.changed = &made, true
	case r.next == nil && r.due(r.signer.cert):
		made, err := newAuthority(r.now, r.life.Authority)
		if err != nil {
			return err
		}
		r.next, r.changed = &made, true
	}
	return nil
}

// settled says whether the next authority is published, and made long enough ago for that to be known everywhere.
func (r *renewal) settled(published []byte) bool {
	return !r.now.Before(r.next.cert.NotBefore.Add(r.life.Settle+skewOf(r.next.cert))) &&
		slices.ContainsFunc(decodeCerts(published), r.next.cert.Equal)
}

func skewOf(cert *x509.Certificate) time.Duration {
	return min(5*time.Minute, cert.NotAfter.Sub(cert.NotBefore)/20)
}

// due says whether two thirds of the certificate's life have passed.
func (r *renewal) due(cert *x509.Certificate) bool {
	life := cert.NotAfter.Sub(cert.NotBefore)
	return !r.now.Before(cert.NotBefore.Add(life / 3 * 2))
}

// fits says whether the certificate is for all hosts and by an authority that is published.
func (r *renewal) fits(cert *x509.Certificate) bool {
	for _, host := range r.hosts {
		if cert.VerifyHostname(host) != nil {
			return false
		}
	}
	byOurs := func(ca *x509.Certificate) bool { return cert.CheckSignatureFrom(ca) == nil }
	return byOurs(r.signer.cert) || slices.ContainsFunc(r.former, byOurs)
}

func (r *renewal) write() (Keys, error) {
	k := Keys{}
	put := func(p *pair, cert, key string) error {
		if p == nil {
			return nil
		}
		var err error
		k[cert], k[key], err = p.encode()
		return err
	}
	for _, entry := range []struct {
		pair      *pair
		cert, key string
	}{{r.signer, bundleEntry, signerEntry}, {r.next, nextEntry, nextKeyEntry}, {r.serving, certEntry, keyEntry}} {
		if err := put(entry.pair, entry.cert, entry.key); err != nil {
			return nil, err
		}
	}
	var bundle bytes.Buffer
	bundle.Write(k[bundleEntry])
	for _, cert := range r.former {
		bundle.Write(encodeCert(cert))
	}
	k[bundleEntry] = bundle.Bytes()
	return k, nil
}
