// Package nethttp hands netco's listeners and connections to net/http, whose server and client run ordinary goroutines.
package nethttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/interop/internal/certs"
	"github.com/netco-go/netco/interop/internal/place"
	"github.com/netco-go/netco/socket"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// site is a running server and a client of it, both on netco's connections.
type site struct {
	url    string
	server *http.Server
	client *http.Client
	dials  atomic.Int32
	ended  chan error // what Serve returned
}

// protocols are those that a site can speak.
var protocols = []string{"http", "https", "h2"}

// start serves on a listener of netco's. set, if there is one, prepares the
// Server.
func start(t *testing.T, protocol string, handler http.HandlerFunc,
	set ...func(*http.Server)) *site {
	t.Helper()
	return startOn(t, netco.Listen, protocol, handler, set...)
}

func startOn(t *testing.T, listen func(network, address string) (net.Listener, error),
	protocol string, handler http.HandlerFunc, set ...func(*http.Server)) *site {
	t.Helper()
	ln, err := listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{url: "http://" + ln.Addr().String(), ended: make(chan error, 1)}
	s.server = &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	for _, f := range set {
		f(s.server)
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			s.dials.Add(1)
			return new(socket.Dialer).DialContext(ctx, network, address)
		},
	}
	s.client = &http.Client{Transport: transport, Timeout: place.Limit}
	if protocol == "http" {
		go func() { s.ended <- s.server.Serve(ln) }()
	} else {
		s.url = "https://" + ln.Addr().String()
		s.server.TLSConfig, transport.TLSClientConfig = certs.Configs(t)
		transport.ForceAttemptHTTP2 = protocol == "h2"
		if protocol == "https" {
			s.server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
		}
		go func() { s.ended <- s.server.ServeTLS(ln, "", "") }()
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.server.Close()
	})
	return s
}

// each runs a test with each protocol, with goroutines as clients, and with coroutines that call the client themselves or through package
// blocking. Client.Do waits in channels for goroutines of the transport, and a coroutine's Processor waits with it.
func each(t *testing.T, handler http.HandlerFunc, body func(t *testing.T, s *site, w place.Way)) {
	eachOf(t, func(string) []place.Way { return place.Every }, handler, body)
}

// eachOf is each with the ways that a protocol allows.
func eachOf(t *testing.T, ways func(protocol string) []place.Way, handler http.HandlerFunc,
	body func(t *testing.T, s *site, w place.Way)) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			place.EachWay(t, ways(protocol), func(t *testing.T, w place.Way) {
				body(t, start(t, protocol, handler), w)
			})
		})
	}
}

// severalAtOnce are the ways for several callers of one client. With HTTP/2 they share a connection, on which a reader of a body
// writes window updates with a mutex held: where Processors are held up, two such coroutines of one may stop it for good.
func severalAtOnce(protocol string) []place.Way {
	if protocol == "h2" {
		return place.Waiting()
	}
	return place.Every
}

// call makes a request and returns the answer's body.
func (s *site) call(method, path string, body io.Reader) (string, error) {
	req, err := http.NewRequest(method, s.url+path, body)
	if err != nil {
		return "", err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return string(got), err
}

// TestKeepAlive: requests one after the other share a connection.
func TestKeepAlive(t *testing.T) {
	each(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }, keepAlive)
}

func keepAlive(t *testing.T, s *site, w place.Way) {
	w.Do(t, func() error {
		for i := range 50 {
			want := fmt.Sprint("request ", i)
			if got, err := s.call("POST", "/", strings.NewReader(want)); got != want || err != nil {
				return fmt.Errorf("answered %q, %v", got, err)
			}
		}
		return nil
	})
	// The transport gives a connection up if the goroutine that wrote a request has not said so 50 ms after the answer, as on a busy machine.
	if n := s.dials.Load(); n < 1 || n > 10 {
		t.Errorf("%d connections for 50 requests one after the other", n)
	}
}

// TestServerOnNet: the server may be on package net's listener, which no Processor has to do with.
func TestServerOnNet(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			place.EachWay(t, place.Every, func(t *testing.T, w place.Way) {
				keepAlive(t, startOn(t, net.Listen, protocol, echo), w)
			})
		})
	}
}

// TestProtocol: HTTP/2 is spoken where it is agreed on.
func TestProtocol(t *testing.T) {
	proto := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }
	want := map[string]string{"http": "HTTP/1.1", "https": "HTTP/1.1", "h2": "HTTP/2.0"}
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			place.Start(t, 2)
			s := start(t, protocol, proto)
			if got, err := s.call("GET", "/", nil); got != want[protocol] || err != nil {
				t.Errorf("answered %q, %v; want %q", got, err, want[protocol])
			}
		})
	}
}

// TestManyClients: large bodies both ways, several at a time.
func TestManyClients(t *testing.T) {
	const size = 1 << 20
	echo := func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		io.Copy(w, r.Body)
	}
	eachOf(t, severalAtOnce, echo, func(t *testing.T, s *site, w place.Way) {
		err := w.All(6, func(i int) error {
			want := strings.Repeat(string(rune('a'+i)), size)
			got, err := s.call("POST", "/", strings.NewReader(want))
			if err != nil {
				return err
			}
			if got != want {
				return fmt.Errorf("%d bytes came back, or others than were sent", len(got))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestStreaming: parts of a body arrive while it is still being written.
func TestStreaming(t *testing.T) {
	var asked chan struct{} // the client has read the part before
	stream := func(w http.ResponseWriter, r *http.Request) {
		for i := range 5 {
			fmt.Fprintln(w, "part", i)
			w.(http.Flusher).Flush()
			<-asked
		}
	}
	asked = make(chan struct{}, 1)
	each(t, stream, func(t *testing.T, s *site, w place.Way) {
		err := w.Run(func() error {
			res, err := s.client.Get(s.url)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			for i := range 5 {
				want := fmt.Sprintln("part", i)
				got := make([]byte, len(want))
				if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != want {
					return fmt.Errorf("read %q, %w", got, err)
				}
				asked <- struct{}{}
			}
			_, err = res.Body.Read(make([]byte, 1))
			if err != io.EOF {
				return fmt.Errorf("after the last part: %w", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestFile: a file goes both ways, by the connection's ReadFrom where it is not encrypted.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, want) {
			http.Error(w, fmt.Sprintf("received %d bytes, %v", len(got), err),
				http.StatusBadRequest)
			return
		}
		http.ServeFile(w, r, name)
	}
	each(t, handler, func(t *testing.T, s *site, w place.Way) {
		w.Do(t, func() error {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			got, err := s.call("POST", "/", f)
			if err == nil && got != string(want) {
				err = fmt.Errorf("%d bytes came back: %.100q", len(got), got)
			}
			return err
		})
	})
}
