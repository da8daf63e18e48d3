package tls_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	stdsync "sync"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net"
	"github.com/netco-go/netco/tls"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// identity is a certificate for localhost that its own pool trusts.
var identity = stdsync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	key := testenv.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der := testenv.Must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey,
		key))
	pool := x509.NewCertPool()
	pool.AddCert(testenv.Must(x509.ParseCertificate(der)))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
})

// configs returns new settings of a server and of a client that trusts it.
func configs() (server, client *tls.Config) {
	cert, pool := identity()
	return &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool},
		&tls.Config{RootCAs: pool, ServerName: "localhost", Certificates: []tls.Certificate{cert}}
}

// pair returns the ends of a TCP connection.
func pair(t testing.TB) (server, client net.Conn) {
	t.Helper()
	ln := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	defer ln.Close()
	client = testenv.Closing(t, testenv.Must(net.Dial("tcp", ln.Addr().String())))
	server = testenv.Closing(t, testenv.Must(ln.Accept()))
	for _, c := range []net.Conn{server, client} {
		c.SetDeadline(time.Now().Add(time.Minute)) // no test waits for ever
	}
	return server, client
}

// ends are those of a connection of this package that have not shaken hands.
func ends(t testing.TB) (server, client *tls.Conn) {
	t.Helper()
	sc, cc := configs()
	a, b := pair(t)
	return tls.Server(a, sc), tls.Client(b, cc)
}

// places are where both ends of the tests' connections are used.
var places = []struct {
	name       string
	processors int
	coroutines bool
}{
	{"goroutines", 2, false},
	{"coroutines of one Processor", 1, true},
	{"coroutines of two Processors", 2, true},
}

// runner runs functions somewhere, all at the same time, until all have ended.
type runner func(...func() error)

// everywhereOf is everywhere for a case of a table, in a subtest of its name.
func everywhereOf(t *testing.T, name string, f func(t *testing.T, run runner)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { everywhere(t, f) })
}

// everywhere runs f for each place, with a runner for that.
func everywhere(t *testing.T, f func(t *testing.T, run runner)) {
	for _, place := range places {
		t.Run(place.name, func(t *testing.T) {
			testrun.Start(t, place.processors)
			f(t, func(parts ...func() error) {
				t.Helper()
				runAll(t, place.coroutines, parts)
			})
		})
	}
}

func runAll(t *testing.T, coroutines bool, parts []func() error) {
	t.Helper()
	errs := make(chan error, len(parts))
	for _, part := range parts {
		run := func() {
			err := errors.New("ended without returning")
			defer func() { errs <- err }()
			err = part()
		}
		if !coroutines {
			go run()
		} else if _, err := netco.Go(run); err != nil {
			t.Fatal(err)
		}
	}
	for range parts {
		testenv.NoError(t, testenv.Await(t, errs, "a part of the test"))
	}
}
