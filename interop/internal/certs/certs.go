// Package certs makes a certificate for 127.0.0.1 and localhost that tests use with crypto/tls.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

type pair struct {
	cert tls.Certificate
	pool *x509.CertPool
}

var made = sync.OnceValues(func() (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "localhost"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return pair{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return pair{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool}, nil
})

// Configs returns new configurations for a server and for a client that trusts it.
func Configs(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	p, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{p.cert}}, &tls.Config{RootCAs: p.pool,
		ServerName: "localhost"}
}
