package http_test

import (
	"bufio"
	"bytes"
	"context"
	stdtls "crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	stdhttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
	"github.com/netco-go/netco/tls"
)

// derived is the key of a value in a context that is derived from a request's.
type derived struct{}

// ask sends a request and returns the response.
func ask(t testing.TB, c net.Conn, in *bufio.Reader, request string) *http.Response {
	t.Helper()
	testenv.Must(io.WriteString(c, request))
	return testenv.Must(http.ReadResponse(in, nil))
}

const plain = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// needsHandoff skips a test whose handlers wait in Go's channels where a
// Processor does not go on without them.
func needsHandoff(t *testing.T) {
	t.Helper()
	if err := testrun.CanHandOn(); err != nil {
		t.Skipf("the handlers wait in Go's channels: %v", err)
	}
}

// TestShutdown: Shutdown, and the end of netco, close connections that are idle
// at once and let requests under way be answered. Serve and Shutdown return.
func TestShutdown(t *testing.T) {
	needsHandoff(t)
	for name, end := range map[string]func(*http.Server) error{
		"Server":    func(s *http.Server) error { return s.Shutdown(context.Background()) },
		"Scheduler": func(*http.Server) error { return netco.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			testrun.Start(t, 2)
			inside, leave := make(chan bool, 1), make(chan bool)
			s := &http.Server{Handler: http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/wait" {
						inside <- true
						<-leave
					}
				})}
			called := make(chan bool, 2)
			s.RegisterOnShutdown(func() { called <- true })
			addr := serve(t, s)
			idle, fresh, busy := dial(t, addr), dial(t, addr), dial(t, addr)
			ask(t, idle, bufio.NewReader(idle), plain)
			testenv.Must(io.WriteString(busy, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"))
			testenv.Await(t, inside, "the handler")
			ended := make(chan error, 1)
			go func() { ended <- end(s) }()
			for _, c := range []net.Conn{idle, fresh} {
				testenv.Gives(t, "", nil)(testenv.AsText(io.ReadAll(c)))
			}
			testenv.Await(t, called, "what RegisterOnShutdown was given")
			limited, cancel := context.WithCancel(context.Background())
			cancel()
			testenv.Fails(t, s.Shutdown(limited), context.Canceled)
			close(leave)
			res := testenv.Must(http.ReadResponse(bufio.NewReader(busy), nil))
			testenv.Equal(t, res.Close, true)
			testenv.OK(t, testenv.Await(t, ended, "the end"))
			testenv.Fails(t, s.ListenAndServe(), http.ErrServerClosed)
		})
	}
}

// TestServerClose: Close ends connections that are idle or busy.
func TestServerClose(t *testing.T) {
	needsHandoff(t)
	testrun.Start(t, 2)
	inside := make(chan bool, 1)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside <- true
		<-r.Context().Done()
	})}
	addr := serve(t, s)
	idle, busy := dial(t, addr), dial(t, addr)
	testenv.Must(io.WriteString(busy, plain))
	testenv.Await(t, inside, "the handler")
	testenv.OK(t, s.Close())
	for _, c := range []net.Conn{idle, busy} {
		if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Error(err)
		}
	}
}

// TestPeerLeaves: a request's context ends when its peer has gone, and no
// sooner, also behind a body.
func TestPeerLeaves(t *testing.T) {
	needsHandoff(t)
	testrun.Start(t, 2)
	how := map[string]func(r *http.Request, w http.ResponseWriter){
		"/done": func(r *http.Request, _ http.ResponseWriter) { <-r.Context().Done() },
		"/err": func(r *http.Request, _ http.ResponseWriter) {
			for r.Context().Err() == nil {
				netco.Sleep(time.Millisecond)
			}
		},
		"/derived": func(r *http.Request, _ http.ResponseWriter) {
			ctx, cancel := context.WithCancel(context.WithValue(r.Context(), derived{}, 1))
			defer cancel()
			<-ctx.Done()
		},
		"/notify": func(_ *http.Request, w http.ResponseWriter) {
			<-w.(http.CloseNotifier).CloseNotify()
		},
		"/body": func(r *http.Request, _ http.ResponseWriter) {
			done := r.Context().Done()
			io.ReadAll(r.Body)
			<-done
		},
	}
	inside, left := make(chan bool, 1), make(chan bool, 1)
	addr := serve(t, &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			inside <- true
			how[r.URL.Path](r, w)
			left <- true
		})})
	for path := range how {
		c := dial(t, addr)
		length := 0
		if path == "/body" {
			length = 2
		}
		testenv.Must(fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n",
			path, length))
		testenv.Await(t, inside, "the handler")
		io.WriteString(c, "hi"[:length])
		c.Close()
		testenv.Await(t, left, "the end of "+path)
	}
}

// TestContext: a request's context has the values of net/http's, and does not
// end before the handler. A byte that comes meanwhile is not lost.
func TestContext(t *testing.T) {
	testrun.Start(t, 2)
	type key struct{}
	type connKey struct{}
	s := &http.Server{
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), key{}, "base")
		},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		c := ctx.Value(connKey{}).(net.Conn)
		local := ctx.Value(http.LocalAddrContextKey).(net.Addr)
		w.Header().Set("Content-Length", "26")
		fmt.Fprintln(w, ctx.Err(), ctx.Value(key{}), ctx.Value(http.ServerContextKey) == s,
			local.String() == c.LocalAddr().String(), r.RemoteAddr == c.RemoteAddr().String())
		context.AfterFunc(ctx, func() {})
		w.(http.Flusher).Flush()
		c.SetWriteDeadline(time.Unix(1, 0)) // for this answer, which is sent
	})
	addr := serve(t, s)
	c := dial(t, addr)
	in := bufio.NewReader(c)
	for range 3 { // the byte read beside the handler is not lost
		res := ask(t, c, in, plain)
		testenv.Gives(t, "<nil> base true true true\n", nil)(testenv.AsText(io.ReadAll(res.Body)))
	}
}

// TestPipelined: requests that come together are answered in order, and an
// answer is not held up by the handler of the next request.
func TestPipelined(t *testing.T) {
	needsHandoff(t)
	testrun.Start(t, 1)
	leave := make(chan bool, 1)
	addr := serve(t, &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			for r.URL.Path == "/sleep" && len(leave) == 0 {
				netco.Sleep(time.Millisecond)
			}
			if r.URL.Path == "/sleep" || r.URL.Path == "/block" {
				<-leave
			}
			io.WriteString(w, r.URL.Path)
		})})
	for _, path := range []string{"/sleep", "/block"} {
		c := dial(t, addr)
		in := bufio.NewReader(c)
		first := ask(t, c, in, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET "+path+
			" HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n")
		testenv.Gives(t, "/1", nil)(testenv.AsText(io.ReadAll(first.Body)))
		leave <- true
		for _, want := range []string{path, "/3"} {
			res := testenv.Must(http.ReadResponse(in, nil))
			testenv.Gives(t, want, nil)(testenv.AsText(io.ReadAll(res.Body)))
		}
	}
}

// TestHijack: the handler gets the connection, with the bytes behind the
// request, and Shutdown does not wait for it.
func TestHijack(t *testing.T) {
	testrun.Start(t, 2)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-time.After(0)
		r.Context().Done()
		c, rw, err := http.NewResponseController(w).Hijack()
		testenv.OK(t, err)
		defer c.Close()
		line, err := rw.ReadString('\n')
		testenv.OK(t, err)
		rw.WriteString("got " + line)
		rw.Flush()
		rest, _ := io.ReadAll(rw)
		c.Write(rest)
		testenv.Fails(t, testenv.Err(w.Write([]byte("x"))), http.ErrHijacked)
	}), ErrorLog: quiet}
	addr := serve(t, s)
	c := dial(t, addr)
	in := bufio.NewReader(c)
	testenv.Must(io.WriteString(c, plain+"hello\n"))
	testenv.Gives(t, "got hello\n", nil)(in.ReadString('\n'))
	testenv.OK(t, s.Shutdown(context.Background()))
	testenv.Must(io.WriteString(c, "more"))
	c.CloseWrite()
	testenv.Gives(t, "more", nil)(testenv.AsText(io.ReadAll(in)))
}

// TestHijackPipelined: what the handler writes after a Hijack is sent when it
// says so, though the coroutine that sends the answer before may still come.
func TestHijackPipelined(t *testing.T) {
	testrun.Start(t, 1)
	addr := serve(t, &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				return
			}
			c, rw, err := http.NewResponseController(w).Hijack()
			testenv.OK(t, err)
			defer c.Close()
			rw.WriteString("hello\n")
			for range 100 {
				netco.Yield()
			}
			testenv.Equal(t, rw.Writer.Buffered(), len("hello\n"), "bytes not sent yet")
			rw.Flush()
		})})
	c := dial(t, addr)
	in := bufio.NewReader(c)
	ask(t, c, in, plain+"GET /hijack HTTP/1.1\r\nHost: a\r\n\r\n")
	testenv.Gives(t, "hello\n", nil)(testenv.AsText(io.ReadAll(in)))
}

// calls waits until a goroutine or a coroutine is in a function.
func calls(t testing.TB, name string) {
	t.Helper()
	testenv.Until(t, name, func() bool { return bytes.Contains(testenv.Stacks(), []byte(name)) })
}

// TestBodyReadElsewhere: the end of a handler ends a Read of the body that is
// under way elsewhere, and with it the connection; so does its panic.
func TestBodyReadElsewhere(t *testing.T) {
	needsHandoff(t)
	testrun.Start(t, 2)
	for _, path := range []string{"/", "/panic"} {
		for _, headers := range []string{"Content-Length: 9\r\n", "Transfer-Encoding: chunked\r\n",
			"Connection: close\r\nContent-Length: 9\r\n"} {
			t.Run(path+" "+headers, func(t *testing.T) {
				reading, read := make(chan bool), make(chan error, 1)
				c := dial(t, serve(t, &http.Server{ErrorLog: quiet, Handler: http.HandlerFunc(
					func(w http.ResponseWriter, r *http.Request) {
						go func() {
							io.ReadFull(r.Body, make([]byte, 1))
							reading <- true
							_, err := r.Body.Read(make([]byte, 9))
							read <- err
						}()
						<-reading
						calls(t, "http.(*body).readLocked")
						if r.URL.Path == "/panic" {
							panic("a test's")
						}
					})}))
				in := bufio.NewReader(c)
				testenv.Must(io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: a\r\n"+headers+
					"\r\n"+map[bool]string{true: "1\r\nx\r\n", false: "x"}[headers[0] == 'T']))
				if path == "/" {
					res := testenv.Must(http.ReadResponse(in, nil))
					testenv.Equal(t, res.Close, true)
				}
				if err := testenv.Await(t, read, "the Read"); err == nil {
					t.Error("Read succeeds")
				}
				_, err := io.ReadAll(in)
				testenv.NoError(t, err)
			})
		}
	}
}

// TestTimeouts: each timeout, and a limit on the body, ends its phase of a
// connection, and the peer gets the answer.
func TestTimeouts(t *testing.T) {
	testrun.Start(t, 2)
	const short = 20 * time.Millisecond
	read := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 9)); err != nil {
			http.Error(w, "slow", http.StatusRequestTimeout)
		}
		if r.URL.Path == "/late" {
			netco.Sleep(2 * short)
		}
	})
	for name, x := range map[string]struct {
		s    *http.Server
		send string
		want string // how what comes back begins
	}{
		"fresh":  {&http.Server{ReadHeaderTimeout: short}, "", ""},
		"header": {&http.Server{ReadHeaderTimeout: short}, "GET / HT", "HTTP/1.1 400"},
		"idle":   {&http.Server{IdleTimeout: short}, plain, "HTTP/1.1 200 OK"},
		"body": {&http.Server{ReadTimeout: short}, "POST / HTTP/1.1\r\nHost: a\r\n" +
			"Content-Length: 5\r\n\r\nhi", "HTTP/1.1 408"},
		"limit": {&http.Server{}, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" +
			"Content-Length: 300000\r\n\r\n" + strings.Repeat("x", 300000), "HTTP/1.1 408"},
		"write": {&http.Server{WriteTimeout: short}, "GET /late HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		"write, behind it half a request": {&http.Server{WriteTimeout: short},
			"GET /late HTTP/1.1\r\nHost: a\r\n\r\nGET / HT", ""},
	} {
		t.Run(name, func(t *testing.T) {
			x.s.Handler = read
			addr, got := serve(t, x.s), ""
			// a thread that stands still may send too late for an answer
			for tries := 0; tries == 0 || got == "" && x.want != "" && tries < 100; tries++ {
				c := dial(t, addr)
				testenv.Must(io.WriteString(c, x.send))
				all, err := io.ReadAll(c)
				got = string(all)
				late := got == "" && x.want != ""
				if err != nil && !(late && strings.Contains(err.Error(), "reset")) {
					t.Fatal(err)
				}
			}
			if !strings.HasPrefix(got, x.want) || x.want == "" && got != "" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestConnState: the hook gets the states that net/http's gets.
func TestConnState(t *testing.T) {
	testrun.Start(t, 2)
	var mu sync.Mutex
	seen := map[string]string{}
	over := make(chan bool, 10)
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hijack" {
				c, _, _ := w.(http.Hijacker).Hijack()
				c.Close()
			}
		}),
		ConnState: func(c net.Conn, state http.ConnState) {
			mu.Lock()
			seen[c.RemoteAddr().String()] += state.String() + " "
			mu.Unlock()
			if state == http.StateClosed || state == http.StateHijacked {
				over <- true
			}
		},
	}
	addr := serve(t, s)
	for request, want := range map[string]string{
		"":                                "new closed ",
		plain:                             "new active idle closed ",
		plain + plain:                     "new active idle active idle closed ",
		"GET / HTTP/1.1\r\n\r\n":          "new active closed ",
		"GET / HTTP/1.0\r\n\r\n":          "new active closed ",
		"GET /hijack HTTP/1.0\r\n\r\n":    "new active hijacked ",
		"GET /hijack HTTP/1.1\r\n\r\n":    "new active closed ",
		plain + "GET / HTTP/1.0\r\n\r\n ": "new active idle active closed ",
	} {
		c := dial(t, addr)
		io.WriteString(c, request)
		c.CloseWrite()
		io.ReadAll(c)
		testenv.Await(t, over, "the end")
		mu.Lock()
		testenv.Equal(t, seen[c.LocalAddr().String()], want, request)
		mu.Unlock()
	}
	c := dial(t, addr)
	testenv.Must(io.WriteString(c, "x")) // not a request that is parsed here
	calls(t, "http.(*conn).readHead")
	s.RegisterOnShutdown(func() { over <- true })
	go s.Shutdown(context.Background())
	testenv.Await(t, over, "the beginning of Shutdown")
	testenv.Must(io.WriteString(c, "\r\n\r\n"))
	testenv.Await(t, over, "the end after that")
}

// TestClosedWhileNew: a connection that is closed before it has a coroutine, as
// httptest.Server.Close does it, is reported as closed. It was not, and Close
// waited for it for ever.
func TestClosedWhileNew(t *testing.T) {
	testrun.Start(t, 2)
	states := make(chan http.ConnState, 4)
	addr := serve(t, &http.Server{ConnState: func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			c.Close()
		}
		states <- state
	}})
	dial(t, addr)
	for _, want := range []http.ConnState{http.StateNew, http.StateClosed} {
		testenv.Equal(t, testenv.Await(t, states, "a state"), want)
	}
}

// withTLS serves with TLS on a listener of "netco", "netco/tls" or "net", and
// returns the URL and a client.
func withTLS(t *testing.T, s *http.Server, on string, two bool) (string, *stdhttp.Client) {
	t.Helper()
	pattern := httptest.NewUnstartedServer(nil)
	pattern.EnableHTTP2 = two
	pattern.StartTLS()
	defer pattern.Close()
	s.TLSConfig = &stdtls.Config{Certificates: pattern.TLS.Certificates}
	for proto := range s.TLSNextProto {
		s.TLSConfig.NextProtos = append(s.TLSConfig.NextProtos, proto)
	}
	if two {
		s.TLSConfig.NextProtos = append(s.TLSConfig.NextProtos, "h2")
	}
	listen, serve := netco.Listen, func(l net.Listener) error { return s.ServeTLS(l, "", "") }
	switch on {
	case "net":
		listen = net.Listen
	case "netco/tls":
		listen = func(network, addr string) (net.Listener, error) {
			return tls.Listen(network, addr, s.TLSConfig)
		}
		serve = s.Serve
	}
	l := testenv.Must(listen("tcp", "127.0.0.1:0"))
	ended := make(chan error, 1)
	go func() { ended <- serve(l) }()
	t.Cleanup(func() {
		s.Close()
		testenv.Fails(t, testenv.Await(t, ended, "ServeTLS"), http.ErrServerClosed)
	})
	client := pattern.Client()
	t.Cleanup(client.CloseIdleConnections)
	return "https://" + l.Addr().String(), client
}

// TestTLS: HTTP/1 and 2 over TLS, on netco's listener and on another's.
func TestTLS(t *testing.T) {
	testrun.Start(t, 2)
	for _, on := range []string{"netco", "netco/tls", "net"} {
		for _, two := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s two=%v", on, two), func(t *testing.T) {
				s := &http.Server{}
				s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					fmt.Fprintf(w, "%s %v %s %v", r.Proto, r.TLS.HandshakeComplete, body,
						r.Context().Value(http.ServerContextKey) == s)
				})
				url, client := withTLS(t, s, on, two)
				want := "HTTP/1.1 true hello true"
				if two {
					want = "HTTP/2.0 true hello true"
				}
				for range 3 {
					res := testenv.Must(client.Post(url, "", strings.NewReader("hello")))
					testenv.Gives(t, want, nil)(testenv.AsText(io.ReadAll(res.Body)))
					res.Body.Close()
				}
				client.CloseIdleConnections() // HTTP/2 would wait for it a second
				testenv.OK(t, s.Shutdown(context.Background()))
			})
		}
	}
}

// TestALPN: a Server with TLS agrees with clients on the protocols that
// net/http's agrees on.
func TestALPN(t *testing.T) {
	testrun.Start(t, 2)
	pattern := httptest.NewTLSServer(nil)
	certs := pattern.TLS.Certificates
	pattern.Close()
	lists := [][]string{nil, {"h2"}, {"http/1.1"}, {"foo", "h2"}, {"http/1.1", "h2"}, {"h2", "foo"}}
	for _, versions := range []string{"", "1", "2", "12"} {
		for _, offered := range lists {
			config := func() *stdtls.Config { // net/http writes to its own
				return &stdtls.Config{Certificates: certs, NextProtos: slices.Clone(offered)}
			}
			own := &http.Server{TLSConfig: config(), ErrorLog: quiet}
			std := &stdhttp.Server{TLSConfig: config(), ErrorLog: quiet}
			if versions != "" {
				own.Protocols = new(http.Protocols)
				own.Protocols.SetHTTP1(strings.Contains(versions, "1"))
				own.Protocols.SetHTTP2(strings.Contains(versions, "2"))
				std.Protocols = own.Protocols
			}
			l := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
			stdL := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
			go own.ServeTLS(l, "", "")
			go std.ServeTLS(stdL, "", "")
			for _, asked := range lists {
				agreed := func(l net.Listener) string {
					c, err := stdtls.Dial("tcp", l.Addr().String(),
						&stdtls.Config{InsecureSkipVerify: true, NextProtos: asked})
					if err != nil {
						return err.Error()
					}
					defer c.Close()
					return c.ConnectionState().NegotiatedProtocol
				}
				testenv.Equal(t, agreed(l), agreed(stdL), fmt.Sprintf(
					"versions %q, offered %q, asked for %q", versions, offered, asked))
			}
			own.Close()
			std.Close()
		}
	}
}

// TestCertificateFiles: ListenAndServeTLS serves with the certificate in two
// files, which comes before TLSConfig's; it closes its listener if it cannot
// read them.
func TestCertificateFiles(t *testing.T) {
	testrun.Start(t, 2)
	pattern := httptest.NewTLSServer(nil)
	cert, client := pattern.TLS.Certificates[0], pattern.Client()
	pattern.Close()
	write := func(kind string, der []byte) string {
		name := filepath.Join(t.TempDir(), "pem")
		block := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		testenv.OK(t, os.WriteFile(name, block, 0o600))
		return name
	}
	certFile := write("CERTIFICATE", cert.Certificate[0])
	keyFile := write("PRIVATE KEY", testenv.Must(x509.MarshalPKCS8PrivateKey(cert.PrivateKey)))
	l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	addr := l.Addr().String()
	l.Close()
	for _, config := range []*stdtls.Config{nil, {Certificates: make([]stdtls.Certificate, 1)}} {
		s := &http.Server{Addr: addr, TLSConfig: config, ErrorLog: quiet}
		t.Cleanup(func() { s.Close() })
		ended := make(chan error, 1)
		serve := func(key string) { ended <- s.ListenAndServeTLS(certFile, key) }
		go serve("none")
		testenv.True(t, os.IsNotExist(testenv.Await(t, ended, "the end")), "no error without a key")
		go serve(keyFile) // the port is free again
		testenv.Until(t, "an answer", func() bool {
			res, err := client.Get("https://" + addr)
			if err != nil {
				return false
			}
			res.Body.Close()
			return res.StatusCode == http.StatusNotFound
		})
		client.CloseIdleConnections()
		s.Close()
		testenv.Fails(t, testenv.Await(t, ended, "the end"), http.ErrServerClosed)
	}
}

// TestNextProto: TLSNextProto's functions serve their protocols, beside HTTP:
// they get crypto/tls's connection and a handler that knows it, and Shutdown
// waits for them. A panic ends the connection.
func TestNextProto(t *testing.T) {
	testrun.Start(t, 2)
	for _, on := range []string{"netco", "net"} {
		t.Run(on, func(t *testing.T) {
			s, shuts := &http.Server{ErrorLog: quiet}, make(chan bool, 1)
			s.RegisterOnShutdown(func() { shuts <- true })
			s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, "%q %v", r.TLS.NegotiatedProtocol, r.RemoteAddr != "")
			})
			s.TLSNextProto = map[string]func(*http.Server, *stdtls.Conn, http.Handler){
				"echo": func(got *http.Server, c *stdtls.Conn, h http.Handler) {
					testenv.Equal(t, got, s)
					w := httptest.NewRecorder()
					h.ServeHTTP(w, &http.Request{})
					io.Copy(c, io.MultiReader(w.Body, c))
				},
				"panics": func(*http.Server, *stdtls.Conn, http.Handler) { panic("on purpose") },
			}
			url, client := withTLS(t, s, on, false)
			res := testenv.Must(client.Get(url))
			testenv.Gives(t, `"" true`, nil)(testenv.AsText(io.ReadAll(res.Body)))
			res.Body.Close()
			config := client.Transport.(*stdhttp.Transport).TLSClientConfig.Clone()
			speak := func(proto string) *stdtls.Conn {
				config.NextProtos = []string{proto}
				c := testenv.Must(stdtls.Dial("tcp", strings.TrimPrefix(url, "https://"), config))
				return testenv.Closing(t, c)
			}
			_, err := speak("panics").Read(make([]byte, 1))
			testenv.Equal(t, err != nil, true)
			c := speak("echo")
			testenv.Must(io.WriteString(c, " hello"))
			want := `"echo" true hello`
			got := make([]byte, len(want))
			testenv.Must(io.ReadFull(c, got))
			testenv.Equal(t, string(got), want)
			ended := make(chan error, 1)
			go func() { ended <- s.Shutdown(context.Background()) }()
			testenv.Await(t, shuts, "the beginning of Shutdown")
			testenv.Must(io.WriteString(c, "on"))
			testenv.Must(io.ReadFull(c, got[:2]))
			testenv.Equal(t, string(got[:2]), "on")
			testenv.Equal(t, len(ended), 0)
			testenv.OK(t, c.Close())
			testenv.OK(t, testenv.Await(t, ended, "Shutdown"))
		})
	}
}

// TestPlainToTLS: a request without TLS gets net/http's answer.
func TestPlainToTLS(t *testing.T) {
	testrun.Start(t, 2)
	url, _ := withTLS(t, &http.Server{ErrorLog: quiet}, "netco", false)
	testenv.Gives(t, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS "+
		"server.\n", nil)(talk(strings.TrimPrefix(url, "https://"), []byte(plain)))
}

// TestUnencryptedHTTP2: a connection that begins with HTTP/2's preface is
// served, where Protocols has it, beside HTTP/1.
func TestUnencryptedHTTP2(t *testing.T) {
	testrun.Start(t, 2)
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	s := &http.Server{Protocols: &p, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })}
	addr := serve(t, s)
	var two http.Protocols
	two.SetUnencryptedHTTP2(true)
	for want, client := range map[string]*stdhttp.Client{
		"HTTP/1.1": {Transport: &stdhttp.Transport{}},
		"HTTP/2.0": {Transport: &stdhttp.Transport{Protocols: &two}},
	} {
		res := testenv.Must(client.Get("http://" + addr))
		testenv.Gives(t, want, nil)(testenv.AsText(io.ReadAll(res.Body)))
		res.Body.Close()
		client.CloseIdleConnections()
	}
	testenv.OK(t, s.Shutdown(context.Background()))
}

// TestOtherListeners: connections that are not netco's are served, too.
func TestOtherListeners(t *testing.T) {
	testrun.Start(t, 2)
	for name, listen := range map[string]func() (net.Listener, error){
		"net": func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
		"unix": func() (net.Listener, error) {
			return netco.Listen("unix", testenv.SocketPath(t, "s"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &http.Server{}
			s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, r.Context().Value(http.ServerContextKey) == s)
			})
			l := testenv.Must(listen())
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(l) }()
			c := testenv.Closing(t, testenv.Must(net.Dial(l.Addr().Network(), l.Addr().String())))
			res := ask(t, c, bufio.NewReader(c), plain)
			testenv.Gives(t, "true", nil)(testenv.AsText(io.ReadAll(res.Body)))
			testenv.OK(t, s.Shutdown(context.Background()))
			testenv.Fails(t, testenv.Await(t, ended, "Serve"), http.ErrServerClosed)
		})
	}
}
