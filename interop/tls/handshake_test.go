package tls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/netco-go/netco/interop/internal/certs"
	"github.com/netco-go/netco/interop/internal/place"
)

// TestHandshakeDeadline: a client that says nothing holds a handshake up no longer than the server's deadline.
func TestHandshakeDeadline(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		ln := listen(t)
		scfg, _ := certs.Configs(t)
		mute, err := dial(ln)
		if err != nil {
			t.Fatal(err)
		}
		defer mute.Close()
		err = serve(p, ln, func(raw net.Conn) error {
			c := tls.Server(raw, scfg)
			c.SetDeadline(time.Now().Add(20 * time.Millisecond))
			err := c.Handshake()
			if ne := net.Error(nil); !errors.Is(err, os.ErrDeadlineExceeded) ||
				!errors.As(err, &ne) || !ne.Timeout() {
				return fmt.Errorf("Handshake: %v", err)
			}
			return nil
		})()
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestHandshakeCancelled: crypto/tls closes the connection from a goroutine of its own when the context is over.
func TestHandshakeCancelled(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		ln := listen(t)
		scfg, _ := certs.Configs(t)
		mute, err := dial(ln)
		if err != nil {
			t.Fatal(err)
		}
		defer mute.Close()
		ctx, cancel := context.WithCancel(context.Background())
		begun := make(chan struct{})
		wait := serve(p, ln, func(raw net.Conn) error {
			close(begun)
			if err := tls.Server(raw, scfg).HandshakeContext(ctx); err != context.Canceled {
				return fmt.Errorf("HandshakeContext: %v", err)
			}
			return nil
		})
		<-begun
		cancel()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestResumption: the second connection resumes the session of the first, in TLS 1.2, where the ticket comes in the
// handshake, and in 1.3, where it comes after it.
func TestResumption(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			between(t, func(t *testing.T, server, client place.Place) {
				ln := listen(t)
				scfg, ccfg := certs.Configs(t)
				ccfg.MaxVersion, ccfg.ClientSessionCache = version, tls.NewLRUClientSessionCache(1)
				for i := range 2 {
					waitServer := serve(server, ln, func(raw net.Conn) error {
						c := tls.Server(raw, scfg)
						defer c.Close()
						_, err := io.Copy(c, c)
						return err
					})
					waitClient := client.Go(func() error {
						raw, err := dial(ln)
						if err != nil {
							return err
						}
						c := tls.Client(raw, ccfg)
						defer c.Close()
						if _, err := c.Write([]byte("x")); err != nil {
							return err
						}
						if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
							return err
						}
						if got, want := c.ConnectionState().DidResume, i == 1; got != want {
							return fmt.Errorf("connection %d: DidResume is %v", i, got)
						}
						return nil
					})
					if err := errors.Join(waitClient(), waitServer()); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
