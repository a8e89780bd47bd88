package webhook

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// pair is a certificate and its key, decoded.
type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// newAuthority makes a certificate authority that signs itself.
func newAuthority(now time.Time, life time.Duration) (pair, error) {
	template := template("evenkeel-webhook-ca", now, life)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.MaxPathLenZero = true
	template.KeyUsage = x509.KeyUsageCertSign
	return sign(template, nil)
}

// issue makes a serving certificate for the hosts, DNS names and IP addresses. The pair is
// the authority, which the certificate does not outlive.
func (p pair) issue(hosts []string, now time.Time, life time.Duration) (pair, error) {
	template := template("evenkeel-webhook", now, life)
	if template.NotAfter.After(p.cert.NotAfter) {
		template.NotAfter = p.cert.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(template, &p)
}

// template begins the life a little before now, for clocks that are behind ours.
func template(name string, now time.Time, life time.Duration) *x509.Certificate {
	skew := min(5*time.Minute, life/20)
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-skew).Truncate(time.Second),
		NotAfter:  now.Add(life),
	}
}

func sign(template *x509.Certificate, ca *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return pair{}, fmt.Errorf("make a serial number: %w", err)
	}
	parent, signer := template, crypto.Signer(key)
	if ca != nil {
		parent, signer = ca.cert, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return pair{}, fmt.Errorf("sign a certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, fmt.Errorf("read the certificate back: %w", err)
	}
	return pair{cert, key}, nil
}

// encode returns the certificate and the key as PEM.
func (p pair) encode() (certPEM, keyPEM []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode a key: %w", err)
	}
	return encodeCert(p.cert), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func encodeCert(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

// decodePair returns false for what is no certificate with its key.
func decodePair(certPEM, keyPEM []byte) (pair, bool) {
	certs := decodeCerts(certPEM)
	block, _ := pem.Decode(keyPEM)
	if len(certs) == 0 || block == nil {
		return pair{}, false
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return pair{}, false
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(certs[0].PublicKey) {
		return pair{}, false
	}
	return pair{certs[0], key}, true
}

// decodeCerts skips what is no certificate.
func decodeCerts(data []byte) []*x509.Certificate {
	var certs []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return certs
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			certs = append(certs, cert)
		}
	}
}
