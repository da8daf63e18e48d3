package gen

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// serveH2 is net/http's HTTP/2 server.
func serveH2(t *testing.T, scheme string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			w.WriteHeader(http.StatusHTTPVersionNotSupported)
		}
		b, _ := io.ReadAll(r.Body)
		w.Write(append([]byte("Hello "), b...))
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Y") != "z" || r.Host != "other" || r.Method != "DELETE" ||
			len(r.Header.Get("Long")) > 0 && len(r.Header.Get("Long")) != 40_000 {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, 10<<20))
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	mux.HandleFunc("/trailer", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "Sum")
		w.Write([]byte("part"))
		w.(http.Flusher).Flush()
		w.Header().Set("Sum", "4")
	})
	mux.HandleFunc("/close", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close") // a GOAWAY in HTTP/2
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: mux, Protocols: new(http.Protocols)}
	t.Cleanup(func() { s.Close() })
	if scheme == "https" {
		s.Protocols.SetHTTP2(true)
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
		go s.ServeTLS(ln, "", "")
	} else {
		s.Protocols.SetUnencryptedHTTP2(true)
		go s.Serve(ln)
	}
	return scheme + "://" + ln.Addr().String()
}

func TestHTTP2(t *testing.T) {
	streams := func(c *Config) { c.Pipeline = 7 }
	for _, c := range []struct {
		name, scheme, path string
		set                func(*Config)
		status             string
	}{
		{"one", "h2", "/", nil, "200"},
		{"streams", "h2", "/", streams, "200"},
		{"more streams than allowed", "h2", "/", func(c *Config) {
			c.Pipeline, c.Connections, c.Threads = 1000, 1, 1
		}, "200"},
		{"tls", "https", "/", streams, "200"},
		{"body", "h2", "/", func(c *Config) {
			c.Pipeline, c.Body, c.Mix = 3, "{size}{rand}", Mix{{10, 1}, {9000, 1}}
		}, "200"},
		{"random path", "h2", "/{rand}", func(c *Config) {
			c.Header, c.Pipeline = []string{"X: {rand}", "Y: constant"}, 5
		}, "200"},
		{"large body", "h2", "/", func(c *Config) {
			c.Pipeline, c.Body, c.Mix = 4, "{size}", Mix{{3 << 20, 1}}
		}, "200"},
		{"large body over TLS", "https", "/", func(c *Config) {
			c.Pipeline, c.Body, c.Mix = 2, "{size}", Mix{{1 << 20, 1}}
		}, "200"},
		{"large answer", "h2", "/large", streams, "200"},
		{"trailer", "h2", "/trailer", streams, "200"},
		{"HEAD", "h2", "/large", func(c *Config) { c.Method, c.Pipeline = "HEAD", 3 }, "200"},
		{"header", "h2", "/header", func(c *Config) {
			c.Header, c.Host, c.Method = []string{"X-Y: z"}, "other", "DELETE"
		}, "200"},
		{"long header", "h2", "/header", func(c *Config) {
			c.Header, c.Host, c.Method = []string{"X-Y: z", "Long: {size}"}, "other", "DELETE"
			c.Mix = Mix{{40_000, 1}}
		}, "200"},
		{"churn", "h2", "/", func(c *Config) { c.Churn, c.Pipeline = 4, 3 }, "200"},
		{"close", "h2", "/close", streams, "200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t, serveH2(t, c.scheme)+c.path, c.set)
			cfg.ALPN = []string{"h2"}
			if strings.HasPrefix(c.name, "large") || c.name == "HEAD" {
				cfg.Requests = 6
			}
			r := runFine(t, cfg, cfg.Requests)
			if r.Totals.Status[c.status] != cfg.Requests {
				t.Errorf("status %v", r.Totals.Status)
			}
			if r.Totals.BytesIn == 0 || r.Totals.BytesOut == 0 ||
				c.scheme == "https" && r.Totals.Handshake != r.Totals.Connects {
				t.Errorf("%+v", r.Totals)
			}
			if cfg.Churn > 0 && r.Totals.Connects < 15 {
				t.Errorf("%d connects of 60 requests, 4 on each", r.Totals.Connects)
			}
		})
	}
}

// TestHTTP2Targets: the paths of several targets are not in HPACK's table, in
// which they would take one another's places.
func TestHTTP2Targets(t *testing.T) {
	url := serveH2(t, "h2")
	r := runFine(t, config(t, url+"/", func(c *Config) {
		c.Pipeline = 5
		var err error
		if c.Targets, err = ParseTargets(url+"/", url+"/trailer", url+"/{rand}"); err != nil {
			t.Fatal(err)
		}
	}), 60)
	if r.Totals.Status["200"] != 60 {
		t.Errorf("status %v", r.Totals.Status)
	}
}

// A server that ends requests without reading their bodies costs no others.
func TestHTTP2EarlyAnswer(t *testing.T) {
	cfg := config(t, serveH2(t, "h2")+"/early", func(c *Config) {
		c.Pipeline, c.Body, c.Mix = 3, "{size}", Mix{{4 << 20, 1}}
	})
	r, err := run(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if r.Totals.Status["413"] != 60 || r.Totals.Errors.Sum() != r.Totals.Errors.Status {
		t.Errorf("%+v", r.Totals)
	}
}

func TestHTTP2OpenLoop(t *testing.T) {
	for _, scheme := range []string{"h2", "https"} {
		t.Run(scheme, func(t *testing.T) {
			cfg := config(t, serveH2(t, scheme)+"/", func(c *Config) {
				c.Requests, c.Duration, c.Rate, c.Pipeline = 0, 400*time.Millisecond, 500, 10
				c.ALPN = []string{"h2"}
			})
			r, err := run(t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if n := r.Totals.Requests; n != r.Totals.Intended || n < 199 || n > 201 {
				t.Errorf("%d requests of %d intended, %+v", n, r.Totals.Intended, r.Totals.Errors)
			}
		})
	}
}

// h2Peer is a server's side of a connection, frame by frame.
type h2Peer struct {
	*http2.Framer
	c   net.Conn
	buf bytes.Buffer
	enc *hpack.Encoder
}

// listenH2 runs serve on each connection, behind the handshake.
func listenH2(t *testing.T, settings []http2.Setting, serve func(*h2Peer)) string {
	return listen(t, "h2", func(c net.Conn) {
		if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		p := &h2Peer{Framer: http2.NewFramer(c, c), c: c}
		p.enc = hpack.NewEncoder(&p.buf)
		_ = p.WriteSettings(settings...)
		serve(p)
	})
}

// ReadFrame answers what the handshake asks for.
func (p *h2Peer) ReadFrame() (http2.Frame, error) {
	for {
		f, err := p.Framer.ReadFrame()
		if ping, ok := f.(*http2.PingFrame); err != nil || !ok || ping.IsAck() {
			return f, err
		}
		_ = p.WritePing(true, f.(*http2.PingFrame).Data)
	}
}

// request returns the ID of the next request.
func (p *h2Peer) request() (id uint32, ok bool) {
	for {
		f, err := p.ReadFrame()
		if err != nil {
			return 0, false
		}
		if f, ok := f.(*http2.HeadersFrame); ok {
			return f.StreamID, true
		}
	}
}

func (p *h2Peer) head(id uint32, ends bool, fields ...string) {
	p.buf.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.buf.Bytes(),
		EndStream: ends, EndHeaders: true})
}

func (p *h2Peer) ok(id uint32) { p.head(id, true, ":status", "200") }

// answerTen answers ten requests and returns the next one's ID.
func (p *h2Peer) answerTen() (id uint32, ok bool) {
	for range 10 {
		if id, ok = p.request(); !ok {
			return 0, false
		}
		p.ok(id)
	}
	return p.request()
}

// rest answers all requests that still come.
func (p *h2Peer) rest() {
	for id, ok := p.request(); ok; id, ok = p.request() {
		p.ok(id)
	}
}

// h2Faults are what a server may do in the middle, and how it counts.
var h2Faults = []struct {
	name string
	do   func(p *h2Peer, id uint32)
	got  func(*result.Errors) uint64
}{
	{"closed", func(*h2Peer, uint32) {}, resets},
	{"RST_STREAM", func(p *h2Peer, id uint32) {
		_ = p.WriteRSTStream(id, http2.ErrCodeInternal)
		p.rest()
	}, resets},
	{"GOAWAY", func(p *h2Peer, id uint32) { _ = p.WriteGoAway(id-2, 0, nil) }, noErrors},
	{"GOAWAY in two steps", func(p *h2Peer, id uint32) {
		_ = p.WriteGoAway(1<<31-1, 0, nil)
		_ = p.WriteGoAway(id, 0, nil)
		p.ok(id)
		_, _ = p.ReadFrame()
	}, noErrors},
	{"GOAWAY without the answer", func(p *h2Peer, id uint32) {
		_ = p.WriteGoAway(id, http2.ErrCodeInternal, []byte("debug"))
	}, resets},
	{"PING, PRIORITY, unknown", func(p *h2Peer, id uint32) {
		_ = p.WritePing(false, [8]byte{1, 2})
		_ = p.WritePriority(id, http2.PriorityParam{Weight: 7})
		_ = p.WriteRawFrame(0xbe, 0, id, []byte("?"))
		p.ok(id)
		for f, err := p.ReadFrame(); err == nil; f, err = p.ReadFrame() {
			switch f := f.(type) {
			case *http2.PingFrame:
				if f.IsAck() && f.Data[1] == 2 {
					p.rest()
					return
				}
			case *http2.HeadersFrame:
				p.ok(f.StreamID)
			}
		}
	}, noErrors},
	{"no status", func(p *h2Peer, id uint32) { p.head(id, true, "a", "b") }, wrongAnswers},
	{"status x", func(p *h2Peer, id uint32) { p.head(id, true, ":status", "2x0") }, wrongAnswers},
	{"status 101", func(p *h2Peer, id uint32) { p.head(id, false, ":status", "101") }, resets},
	{"length", func(p *h2Peer, id uint32) {
		p.head(id, true, ":status", "200", "content-length", "5")
	}, resets},
	{"DATA first", func(p *h2Peer, id uint32) { _ = p.WriteData(id, true, nil) }, wrongAnswers},
	{"another stream", func(p *h2Peer, id uint32) { p.ok(id + 2) }, resets},
	{"even stream", func(p *h2Peer, id uint32) { p.ok(2) }, resets},
	{"push", func(p *h2Peer, id uint32) {
		_ = p.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2,
			EndHeaders: true})
	}, wrongAnswers},
	{"HPACK", func(p *h2Peer, id uint32) {
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0xff},
			EndHeaders: true})
	}, wrongAnswers},
	{"window", func(p *h2Peer, id uint32) {
		_ = p.WriteWindowUpdate(0, 1<<31-1)
		_ = p.WriteWindowUpdate(0, 1<<31-1)
	}, wrongAnswers},
	{"long frame", func(p *h2Peer, id uint32) {
		p.head(id, false, ":status", "200")
		_ = p.WriteData(id, true, make([]byte, 17<<10))
	}, wrongAnswers},
	{"HTTP/1.1", func(p *h2Peer, id uint32) {
		_, _ = io.WriteString(p.c, "HTTP/1.1 200 OK\r\n\r\n")
	}, wrongAnswers},
}

func TestHTTP2Faults(t *testing.T) {
	for _, c := range h2Faults {
		t.Run(c.name, func(t *testing.T) {
			url := listenH2(t, nil, func(p *h2Peer) {
				if id, ok := p.answerTen(); ok {
					c.do(p, id)
					drain(p.c)
				}
			})
			r, err := run(t, config(t, url, nil))
			if err != nil {
				t.Fatal(err)
			}
			e := r.Totals.Errors
			others := e.Sum() - c.got(&e)
			if e.WrongAnswer > 0 {
				others -= e.Reset // by the connection's end
			}
			if others > 0 || c.got(&e) == 0 && c.name != "PING, PRIORITY, unknown" &&
				!strings.HasPrefix(c.name, "GOAWAY") {
				t.Errorf("%+v", e)
			}
			if n := r.Totals.Requests + e.Sum(); n != 60 {
				t.Errorf("%d requests and failures, want 60", n)
			}
		})
	}
}

// A GOAWAY names the last stream that the server has taken. That one fails
// unless it is answered; those behind it are sent again.
func TestHTTP2GoAwaySendsAgain(t *testing.T) {
	var sent atomic.Uint64
	url := listenH2(t, nil, func(p *h2Peer) {
		if id, ok := p.answerTen(); ok {
			sent.Add(1)
			_ = p.WriteGoAway(id, http2.ErrCodeInternal, nil)
			drain(p.c)
		}
	})
	r, err := run(t, config(t, url, func(c *Config) {
		c.Pipeline, c.Connections, c.Threads = 3, 1, 1
	}))
	if err != nil {
		t.Fatal(err)
	}
	if e := r.Totals.Errors; e.Reset != sent.Load() || e.Sum() != e.Reset || e.Reset < 4 ||
		r.Totals.Requests+e.Reset != 60 {
		t.Errorf("%d requests, %+v, %d GOAWAYs", r.Totals.Requests, e, sent.Load())
	}
}

// drain reads what is left, so that closing does not reset the connection in
// front of what has been written.
func drain(c net.Conn) {
	if cw, ok := c.(interface{ CloseWrite() error }); ok {
		_ = cw.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c)
}

// Streams are answered in the reverse order, under the settings of a server
// that allows little.
func TestHTTP2Settings(t *testing.T) {
	url := listenH2(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 5},
		{ID: http2.SettingInitialWindowSize, Val: 10},
		{ID: http2.SettingHeaderTableSize, Val: 0}}, func(p *h2Peer) {
		got, ids := map[uint32]int{}, []uint32(nil)
		for {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
			d, ok := f.(*http2.DataFrame)
			if !ok {
				continue
			}
			if got[d.StreamID] += len(d.Data()); !d.StreamEnded() {
				_ = p.WriteWindowUpdate(d.StreamID, 40)
				_ = p.WriteWindowUpdate(0, 40)
				continue
			}
			if got[d.StreamID] != 64 {
				_ = p.WriteGoAway(0, http2.ErrCodeProtocol, nil)
				return
			}
			if ids = append(ids, d.StreamID); len(ids) == 5 {
				for i := range ids {
					p.ok(ids[4-i])
				}
				ids = nil
			} else if len(got) > 5 {
				return
			}
			delete(got, d.StreamID)
		}
	})
	runFine(t, config(t, url, func(c *Config) {
		c.Pipeline, c.Connections, c.Threads, c.Body = 100, 1, 1, "{size}"
	}), 60)
}

// A request that times out is cancelled, and those beside it go on.
func TestHTTP2Timeout(t *testing.T) {
	cancelled := make(chan uint32, 1) // the first stream, or 0 at the connection's end
	cancel := func(id uint32) {
		select {
		case cancelled <- id:
		default:
		}
	}
	url := listenH2(t, nil, func(p *h2Peer) {
		defer cancel(0)
		for {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
			switch f := f.(type) {
			case *http2.HeadersFrame:
				if f.StreamID != 3 {
					p.ok(f.StreamID)
				}
			case *http2.RSTStreamFrame:
				cancel(f.StreamID)
			}
		}
	})
	cfg := config(t, url, func(c *Config) {
		c.Connections, c.Threads, c.Pipeline, c.Timeout = 1, 1, 4, 2*time.Second
	})
	r, err := run(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if e := r.Totals.Errors; e.Timeout != 1 || e.Sum() != 1 || r.Totals.Connects != 1 ||
		r.Totals.Requests != 59 {
		t.Fatalf("%+v", r.Totals)
	}
	if id := <-cancelled; id != 3 {
		t.Errorf("stream %d was cancelled, want 3", id)
	}
}

// Servers that do not speak HTTP/2 are found out in the handshake.
func TestHTTP2Handshake(t *testing.T) {
	url := serveHTTP(t, "http")
	mute := listen(t, "h2", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	first := listen(t, "h2", func(c net.Conn) {
		_ = http2.NewFramer(c, c).WritePing(false, [8]byte{})
		drain(c)
	})
	for name, c := range map[string]struct{ url, want string }{
		"HTTP/1.1": {strings.Replace(url, "http", "h2", 1), "HTTP/2 handshake"},
		"mute":     {mute, "timeout"},
		"PING":     {first, "PROTOCOL_ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, c.url+"/", func(c *Config) {
				if name == "mute" {
					c.Timeout = 300 * time.Millisecond
				}
			})
			if r, err := run(t, cfg); r != nil || err == nil || !strings.Contains(err.Error(),
				c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	tlsOnly := config(t, serveHTTP1TLS(t), func(c *Config) { c.ALPN = []string{"h2", "http/1.1"} })
	if _, err := run(t, tlsOnly); !errors.Is(err, errWrong) {
		t.Error(err)
	}
}

func serveHTTP1TLS(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Protocols: new(http.Protocols),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate(t)}}}
	s.Protocols.SetHTTP1(true)
	t.Cleanup(func() { s.Close() })
	go s.ServeTLS(ln, "", "")
	return "https://" + ln.Addr().String() + "/"
}

func TestHTTP2Templates(t *testing.T) {
	for _, h := range []string{"no colon", "Connection: close", "Host: x", "a b: c",
		"X: {rand:0}"} {
		p := &httpPlan{targets: []string{"/"}, header: []string{h}}
		if _, err := newH2Template(p, Mix{{1, 1}}, &Target{}); err == nil {
			t.Errorf("-H %q is taken", h)
		}
	}
}
