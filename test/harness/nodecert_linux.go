package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeNodeKubeconfig gives a node an identity of its own, signed by the
// cluster: the node authorizer then treats it as it treats any kubelet.
func (c *Cluster) writeNodeKubeconfig(name, path string) error {
	certificate, key, err := c.sign(pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}})
	if err != nil {
		return fmt.Errorf("a certificate for node %s: %w", name, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData}
	config.AuthInfos["node"] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
	config.Contexts["context"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "node"}
	config.CurrentContext = "context"
	return clientcmd.WriteToFile(*config, path)
}

// sign returns a client certificate and its key in PEM, good for a day.
func (c *Cluster) sign(subject pkix.Name) (certificate, key []byte, err error) {
	authority, err := x509.ParseCertificate(firstBlock(filepath.Join(c.Dir, "pki/ca.crt")))
	if err != nil {
		return nil, nil, err
	}
	authorityKey, err := x509.ParseECPrivateKey(firstBlock(filepath.Join(c.Dir, "pki/ca.key")))
	if err != nil {
		return nil, nil, err
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, &own.PublicKey, authorityKey)
	if err != nil {
		return nil, nil, err
	}
	ownDER, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: ownDER}), nil
}

// firstBlock returns the first block of a PEM file, or nothing, which no
// parser accepts.
func firstBlock(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil
	}
	return block.Bytes
}
