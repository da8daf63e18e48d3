package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/examples/internal/child"
)

// TestMain runs the daemon itself when the test starts it as a child.
func TestMain(m *testing.M) {
	if child.Is() {
		main()
		return
	}
	os.Exit(m.Run())
}

// start runs the daemon and returns it, its address, and the settings of a
// client that trusts it.
func start(t *testing.T, args ...string) (*exec.Cmd, string, *tls.Config) {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	cmd, addr := child.Start(t, append([]string{"-addr", "127.0.0.1:0", "-ca", ca, "-grace",
		"100ms"}, args...)...)
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate in the file")
	}
	return cmd, addr, &tls.Config{RootCAs: roots, ServerName: "localhost"}
}

// TestEcho: several clients at once get back what they send, in pieces of all
// sizes, and the end of the stream after their own; a connection that is open
// does not keep the daemon from ending.
func TestEcho(t *testing.T) {
	cmd, addr, trust := start(t)
	var all sync.WaitGroup
	for id := range 8 {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(id)))
			c, err := tls.Dial("tcp", addr, trust)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(time.Minute))
			for range 20 {
				sent := make([]byte, 1+rnd.IntN(50_000))
				for i := range sent {
					sent[i] = byte(rnd.Uint32())
				}
				go c.Write(sent)
				got := make([]byte, len(sent))
				if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("%d bytes: %v", len(sent), err)
					return
				}
			}
			c.CloseWrite()
			if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("after the end: %d, %v", n, err)
			}
		})
	}
	all.Wait()
	c, err := tls.Dial("tcp", addr, trust)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// TestStrangers: a client that does not speak TLS, or sends nothing, is
// disconnected and delays no other.
func TestStrangers(t *testing.T) {
	_, addr, trust := start(t, "-handshake", "1s", "-processors", "1")
	for _, says := range []string{"GET / HTTP/1.0\r\n\r\n", ""} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, says)
		c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%q: %v", says, err)
		}
	}
	// On a slow machine a good client may take too long once, too.
	for end := time.Now().Add(time.Minute); ; {
		c, err := tls.Dial("tcp", addr, trust)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestBadFiles: a certificate that is not there is said.
func TestBadFiles(t *testing.T) {
	for _, args := range [][]string{{"-cert", "/nowhere"}, {"-ca", "/nowhere/ca.pem"},
		{"-addr", "nonsense"}} {
		cmd := child.Command(args...)
		if out, err := cmd.CombinedOutput(); err == nil ||
			!strings.HasPrefix(string(out), "tls-echo: ") {
			t.Errorf("%v: %q, %v", args, out, err)
		}
	}
}
