package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// clientFiles writes a client's certificate and key, and returns a pool with
// the certificate.
func clientFiles(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testenv.OK(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	testenv.OK(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	testenv.OK(t, err)
	writePEM(t, filepath.Join(dir, "cert"), "CERTIFICATE", der)
	writePEM(t, filepath.Join(dir, "key"), "PRIVATE KEY", private)
	cert, err := x509.ParseCertificate(der)
	testenv.OK(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return pool
}

func writePEM(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	testenv.OK(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// TestLoadCertificates: a server that wants a client's certificate gets it, and
// its own is checked by -cacert.
func TestLoadCertificates(t *testing.T) {
	dir := t.TempDir()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clientFiles(t, dir)}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	cert, key, ca := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "ca")
	writePEM(t, ca, "CERTIFICATE", s.Certificate().Raw)

	code, stdout, stderr := runLoadArgs(t, s.URL, "-n", "20", "-c", "2", "-cert", cert, "-key", key,
		"-cacert", ca)
	if code != exitOK || !strings.Contains(stdout, "status     200: 20\n") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	for _, c := range []struct{ args, want string }{
		{"-cacert " + ca, "certificate"}, // none of the client's
		{"-cert " + cert + " -key " + key, "unknown authority"},
	} {
		args := append([]string{s.URL, "-n", "1", "-c", "1"}, strings.Fields(c.args)...)
		if code, _, stderr := runLoadArgs(t, args...); code != exitFailed ||
			!strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %q, want %q", c.args, code, stderr, c.want)
		}
	}
}
