package gen

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
	"github.com/netco-go/netco/internal/testenv"
)

// listen serves connections until the test ends and returns a URL.
func listen(t *testing.T, scheme string, serve func(net.Conn)) string {
	t.Helper()
	network, addr := "tcp", "127.0.0.1:0"
	if scheme == "unix" {
		network, addr = "unix", testenv.SocketPath(t, "s")
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	if scheme == "tls" {
		ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return scheme + "://" + ln.Addr().String()
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func echoAll(c net.Conn) { _, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) }

// config is a run of 60 requests over 3 connections of 2 threads.
func config(t *testing.T, url string, set func(*Config)) *Config {
	t.Helper()
	targets, err := ParseTargets(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &Config{
		Targets: targets, Connections: 3, Threads: 2, Pipeline: 1, Mix: Mix{{64, 1}}, Requests: 60,
		Timeout: testenv.Limit, Verify: true, Insecure: true, Redis: "PING",
	}
	if set != nil {
		set(cfg)
	}
	return cfg
}

func run(t *testing.T, cfg *Config) (*result.Result, error) {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*testenv.Limit)
	defer cancel()
	return g.Run(ctx)
}

// onAnswer has a run call f, on a goroutine, once requests have been answered.
func onAnswer(t *testing.T, cfg *Config, g *Gen, f func()) {
	cfg.Probe = func(over bool) {
		if over {
			return
		}
		go func() {
			for {
				if n, _ := g.Live(); n > 0 {
					break
				}
				if t.Context().Err() != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
			f()
		}()
	}
}

// runFine fails the test unless each request is answered.
func runFine(t *testing.T, cfg *Config, requests uint64) *result.Result {
	t.Helper()
	r, err := run(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if r.Totals.Requests != requests || r.Response.Count() != requests ||
		r.Service.Count() != requests || r.Totals.Errors.Sum() > 0 {
		t.Errorf("%d requests, %d and %d latencies, errors %+v, want %d", r.Totals.Requests,
			r.Response.Count(), r.Service.Count(), r.Totals.Errors, requests)
	}
	var sum uint64
	for i := range r.Series {
		sum += r.Series[i].Requests
	}
	if sum != requests {
		t.Errorf("%d requests in the seconds, want %d", sum, requests)
	}
	return r
}

// serveHTTP is net/http with answers of both kinds.
func serveHTTP(t *testing.T, scheme string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Write(append([]byte("Hello "), b...))
	})
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			w.Write([]byte("part"))
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/close", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Y") != "z" || r.Host != "other" || r.Method != "DELETE" {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: mux}
	t.Cleanup(func() { s.Close() })
	if scheme == "https" {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
		go s.ServeTLS(ln, "", "")
	} else {
		go s.Serve(ln)
	}
	return scheme + "://" + ln.Addr().String()
}

func serveRedis(t *testing.T) string {
	return listen(t, "redis", func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			for n := 2 * (line[1] - '0'); n > 0; n-- {
				if line, err = r.ReadString('\n'); err != nil {
					return
				}
			}
			answer := "+PONG\r\n"
			if strings.TrimSpace(line) == "bad" {
				answer = "-ERR bad\r\n"
			}
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	})
}

// echoing returns a function that starts a server of that scheme which echoes.
func echoing(scheme string) func(*testing.T) string {
	return func(t *testing.T) string { return listen(t, scheme, echoAll) }
}

// web returns one that starts an HTTP server, for a path of that.
func web(scheme, path string) func(*testing.T) string {
	return func(t *testing.T) string { return serveHTTP(t, scheme) + path }
}

func TestProtocols(t *testing.T) {
	pipelined := func(c *Config) { c.Pipeline = 7 }
	mixed := func(c *Config) { c.Pipeline, c.Mix = 3, Mix{{1, 1}, {20_000, 1}} }
	big := func(c *Config) { c.Pipeline, c.Mix, c.Requests = 4, Mix{{4 << 20, 1}}, 12 }
	for _, c := range []struct {
		name     string
		url      func(t *testing.T) string
		set      func(*Config)
		requests uint64
	}{
		{"tcp", echoing("tcp"), nil, 60},
		{"tcp pipelined", echoing("tcp"), pipelined, 60},
		{"tcp mixed", echoing("tcp"), mixed, 60},
		{"tcp big", echoing("tcp"), big, 12},
		{"tcp many", echoing("tcp"), func(c *Config) {
			c.Connections, c.Requests, c.Threads = 2*ownBuffers+40, 5000, 1
		}, 5000},
		{"unix", echoing("unix"), pipelined, 60},
		{"tls", echoing("tls"), mixed, 60},
		{"udp", serveUDP, pipelined, 60},
		{"http", web("http", "/"), nil, 60},
		{"http body", web("http", "/"), func(c *Config) {
			c.Body, c.Mix = "{size}{rand}", Mix{{10, 1}, {9000, 1}}
		}, 60},
		{"http chunked", web("http", "/chunked"), pipelined, 60},
		{"http close", web("http", "/close"), pipelined, 60},
		{"http header", web("http", "/header"), func(c *Config) {
			c.Header, c.Host, c.Method = []string{"X-Y: z"}, "other", "DELETE"
		}, 60},
		{"https", web("https", "/"), nil, 60},
		{"redis", serveRedis, func(c *Config) {
			c.Redis, c.Pipeline = "SET k:{rand} {size}", 5
		}, 60},
		{"ws", serveWS, mixed, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runFine(t, config(t, c.url(t), c.set), c.requests)
			if r.Totals.BytesIn == 0 || r.Totals.BytesOut == 0 || r.Totals.Connects < 3 {
				t.Errorf("%+v", r.Totals)
			}
			if strings.HasSuffix(r.Target, "s://") && r.Totals.Handshake != r.Totals.Connects {
				t.Errorf("%d handshakes on %d connections", r.Totals.Handshake, r.Totals.Connects)
			}
			if strings.HasPrefix(c.name, "http") && r.Totals.Status["200"] != 60 {
				t.Errorf("status %v", r.Totals.Status)
			}
		})
	}
}

// TestClasses: a request says its class, and each class has its own latencies:
// the server takes its time for class 1.
func TestClasses(t *testing.T) {
	const pause = 2 * time.Millisecond
	url := listen(t, "tcp", func(c net.Conn) {
		for b := make([]byte, 64); ; {
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			if b[0] > 2 {
				b[1]++ // which is a wrong answer
			}
			if b[0] == 1 {
				time.Sleep(pause)
			}
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	})
	mix := work.Mix{{Time: 1, Share: 0.5}, {Time: 2, Share: 0.4}, {Time: 3, Share: 0.1}}
	r := runFine(t, config(t, url, func(c *Config) {
		c.Classes, c.Pipeline, c.Requests = mix, 2, 1000
	}), 1000)
	var sum uint64
	for i, c := range r.Classes {
		n := c.Response.Count()
		if sum += n; c.Name != mix[i].Name() || math.Abs(float64(n)-1000*mix[i].Share) > 100 {
			t.Errorf("class %s has %d of 1000 requests", c.Name, n)
		}
	}
	if p1 := time.Duration(r.Classes[1].Response.At(1)); sum != 1000 || p1 < pause {
		t.Errorf("%d requests in the classes, the p1 of the slow ones is %v", sum, p1)
	}
}

func serveUDP(t *testing.T) string {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(buf[:n], from)
		}
	}()
	return "udp://" + pc.LocalAddr().String()
}

// serveWS makes the handshake and sends frames back without their masks, with a
// ping in front of each.
func serveWS(t *testing.T) string {
	return listen(t, "ws", func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(c, 1<<20)))
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: "+
			acceptOf(req.Header.Get("Sec-WebSocket-Key"))+"\r\n\r\n")
		r := bufio.NewReader(c)
		for {
			op, payload, err := readFrame(r)
			if err != nil {
				return
			}
			if op == wsBinary {
				if _, err := io.WriteString(c,
					frame(0x89, "hi")+frame(0x82, string(payload))); err != nil {
					return
				}
			}
		}
	})
}

func readFrame(r *bufio.Reader) (op byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err = io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	size := int(head[1] & 0x7f)
	if size >= 126 {
		long := make([]byte, map[int]int{126: 2, 127: 8}[size])
		if _, err = io.ReadFull(r, long); err != nil {
			return 0, nil, err
		}
		size = int(new(big.Int).SetBytes(long).Int64())
	}
	payload = make([]byte, 4+size)
	_, err = io.ReadFull(r, payload)
	for i := range size {
		payload[4+i] ^= payload[i&3]
	}
	return head[0] & 0xf, payload[4:], err
}

func TestOpenLoop(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*Config)
	}{
		{"uniform", nil},
		{"poisson", func(c *Config) { c.Poisson = true }},
		{"pipelined", func(c *Config) { c.Pipeline = 5 }},
		{"warm-up", func(c *Config) { c.Warmup = 100 * time.Millisecond }},
		{"ramp", func(c *Config) { c.Ramp = 100 * time.Millisecond }},
		{"churn", func(c *Config) { c.Churn = 7; c.Pipeline = 3 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t, listen(t, "tcp", echoAll), c.set)
			cfg.Requests, cfg.Duration, cfg.Rate = 0, 200*time.Millisecond, 2000
			r, err := run(t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			n := r.Totals.Requests
			if n != r.Totals.Intended || n != r.Response.Count() || n != r.Service.Count() ||
				n != r.Lateness.Count() {
				t.Errorf("%d requests of %d intended, %d, %d and %d in the histograms", n,
					r.Totals.Intended, r.Response.Count(), r.Service.Count(), r.Lateness.Count())
			}
			if want := map[string][2]uint64{"poisson": {250, 550},
				"ramp": {295, 305}}[c.name]; want[1] > 0 && (n < want[0] || n > want[1]) ||
				want[1] == 0 && (n < 399 || n > 401) {
				t.Errorf("%d requests", n)
			}
			if cfg.Churn > 0 && r.Totals.Connects < n/7 {
				t.Errorf("%d connects of %d requests", r.Totals.Connects, n)
			}
		})
	}
}

// Requests that are due when the time is over are sent late, also where each
// has a connection of its own, or fail when their time-out has passed.
func TestOpenLoopLate(t *testing.T) {
	slow := func(c net.Conn) {
		buf := make([]byte, 64)
		if _, err := io.ReadFull(c, buf); err == nil {
			time.Sleep(30 * time.Millisecond)
			_, _ = c.Write(buf)
		}
	}
	for name, c := range map[string]struct {
		timeout time.Duration
		want    uint64 // intended in 100 ms
	}{"sent": {testenv.Limit, 20}, "failed": {time.Second, 100}} {
		t.Run(name, func(t *testing.T) {
			want, timeout := c.want, c.timeout
			r, err := run(t, config(t, listen(t, "tcp", slow), func(c *Config) {
				c.Requests, c.Duration, c.Rate = 0, 100*time.Millisecond, 10*float64(want)
				c.Connections, c.Threads, c.Churn, c.Timeout = 1, 1, 1, timeout
			}))
			if err != nil {
				t.Fatal(err)
			}
			e := r.Totals.Errors
			if n := r.Totals.Requests + e.Sum(); n != want || r.Totals.Intended != want ||
				(e.Sum() > 0) != (name == "failed") {
				t.Errorf("%d intended, %d answered, %+v", r.Totals.Intended, r.Totals.Requests, e)
			}
		})
	}
}

// A server that pauses delays each request that is intended meanwhile by what
// is left of the pause, however few connections there are to send it on.
func TestOpenLoopShowsAPause(t *testing.T) {
	const pause = 300 * time.Millisecond
	var paused atomic.Bool
	url := listen(t, "tcp", func(c net.Conn) {
		buf := make([]byte, 64)
		for n := 0; ; n++ {
			if _, err := io.ReadFull(c, buf); err != nil {
				return
			}
			if n == 100 && !paused.Swap(true) {
				time.Sleep(pause)
			}
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	})
	cfg := config(t, url, func(c *Config) {
		c.Requests, c.Duration, c.Rate, c.Connections, c.Threads = 0, time.Second, 1000, 1, 1
	})
	r, err := run(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	// Request 101 takes 300 ms, the next 299, and so on: of 1000 requests 200
	// take 100 ms or more, 250 take 50.
	for _, c := range []struct {
		percent float64
		least   time.Duration
	}{{99.9, 297 * time.Millisecond}, {90, 195 * time.Millisecond}, {80.5, 95 * time.Millisecond}} {
		if got := time.Duration(r.Response.At(c.percent)); got < c.least {
			t.Errorf("response p%g is %v, want %v or more", c.percent, got, c.least)
		}
	}
	if long := time.Duration(r.Service.At(99)); long >= pause {
		t.Errorf("service p99 is %v: the pause is in one request's service time", long)
	}
}

// TestStoppedServer stops a real process for 200 ms: at a constant rate the
// share of requests that it delays, and by how long, follows by calculation.
func TestStoppedServer(t *testing.T) {
	server := startEcho(t)
	const stop = 200 * time.Millisecond
	cfg := config(t, "tcp://"+server.addr, func(c *Config) {
		c.Requests, c.Duration, c.Rate, c.Connections, c.Threads = 0, 2*time.Second, 1000, 8, 1
	})
	cfg.Probe = func(over bool) {
		if over {
			return
		}
		go func() {
			time.Sleep(100 * time.Millisecond)
			_ = syscall.Kill(server.pid, syscall.SIGSTOP)
			// A thread without a CPU stops when it gets one.
			_ = unix.Waitid(unix.P_PID, server.pid, nil, unix.WSTOPPED, nil)
			time.Sleep(stop)
			_ = syscall.Kill(server.pid, syscall.SIGCONT)
		}()
	}
	r, err := run(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	// 2000 requests, 200 of them in the stop: the slowest 0.1 % take all of
	// it but for 2 ms, the slowest 5 % half of it.
	for _, c := range []struct {
		percent float64
		least   time.Duration
	}{{99.9, stop - 5*time.Millisecond}, {95, stop/2 - 5*time.Millisecond}} {
		if got := time.Duration(r.Response.At(c.percent)); got < c.least {
			t.Errorf("p%g is %v, want %v or more", c.percent, got, c.least)
		}
	}
}

// What may be counted of errors.
func resets(e *result.Errors) uint64       { return e.Reset }
func wrongAnswers(e *result.Errors) uint64 { return e.WrongAnswer }
func timeouts(e *result.Errors) uint64     { return e.Timeout }
func statuses(e *result.Errors) uint64     { return e.Status }
func noErrors(*result.Errors) uint64       { return 0 }

// afterTen returns a server that echoes, and calls f before the eleventh
// answer, which f may change; false ends the connection.
func afterTen(f func(c net.Conn, b []byte) bool) func(t *testing.T) string {
	return func(t *testing.T) string {
		return listen(t, "tcp", func(c net.Conn) {
			b := make([]byte, 64)
			for n := 0; ; n++ {
				if _, err := io.ReadFull(c, b); err != nil || n == 10 && !f(c, b) {
					return
				}
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		})
	}
}

func TestErrorClasses(t *testing.T) {
	var muted atomic.Bool
	for _, c := range []struct {
		name string
		url  func(t *testing.T) string
		got  func(*result.Errors) uint64
		set  func(*Config)
	}{
		{"closed", afterTen(func(net.Conn, []byte) bool { return false }), resets, nil},
		{"reset", afterTen(func(c net.Conn, _ []byte) bool {
			c.(*net.TCPConn).SetLinger(0)
			return false
		}), resets, nil},
		{"garbled", afterTen(func(_ net.Conn, b []byte) bool {
			b[5] ^= 1
			return true
		}), wrongAnswers, nil},
		{"mute", afterTen(func(c net.Conn, _ []byte) bool {
			if !muted.Swap(true) {
				io.Copy(io.Discard, c)
				return false
			}
			return true
		}), timeouts, func(c *Config) { c.Timeout = 2 * time.Second }}, // of dials, too
		{"status", web("http", "/header"), statuses, nil},
		{"redis", serveRedis, statuses, func(c *Config) { c.Redis = "GET bad" }},
		{"no HTTP", func(t *testing.T) string {
			return strings.Replace(listen(t, "tcp", echoAll), "tcp", "http", 1)
		}, wrongAnswers, func(c *Config) { c.Requests = 6 }}, // each after a longer pause
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t, c.url(t), c.set)
			r, err := run(t, cfg)
			if err != nil && c.name != "no HTTP" {
				t.Fatal(err)
			}
			if e := r.Totals.Errors; c.got(&e) == 0 || c.got(&e) != e.Sum() {
				t.Errorf("%+v", e)
			}
			if n := r.Totals.Requests + r.Totals.Errors.Sum() - r.Totals.Errors.Status; n !=
				cfg.Requests {
				t.Errorf("%d requests and failures, want %d", n, cfg.Requests)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	for _, idle := range []int{0, 5} {
		r, err := run(t, config(t, "tcp://"+testenv.ClosedPort(t), func(c *Config) {
			c.Idle = idle
		}))
		if r != nil || !errors.Is(err, syscall.ECONNREFUSED) ||
			!strings.Contains(err.Error(), "cannot connect to tcp://") {
			t.Errorf("%d idle connections: %v, %v", idle, r, err)
		}
	}
	if _, err := run(t, config(t, "unix://"+testenv.SocketPath(t, "none"), nil)); !errors.Is(
		err, syscall.ENOENT) {
		t.Error(err)
	}
	secure := config(t, listen(t, "tls", echoAll), func(c *Config) { c.Insecure = false })
	if _, err := run(t, secure); err == nil || !strings.Contains(err.Error(), "TLS handshake") {
		t.Error(err)
	}
}

// A server that goes away for good ends the run, with what was measured.
func TestServerDies(t *testing.T) {
	server := startEcho(t)
	cfg := config(t, "tcp://"+server.addr, func(c *Config) {
		c.Requests, c.Duration = 0, time.Hour
	})
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	onAnswer(t, cfg, g, func() { _ = syscall.Kill(server.pid, syscall.SIGKILL) })
	r, err := g.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the server is gone") || r == nil ||
		r.Totals.Requests == 0 || r.Failure != err.Error() {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestInterrupt(t *testing.T) {
	mute := func(c net.Conn) { io.Copy(io.Discard, c) }
	for name, serve := range map[string]func(net.Conn){"answers": echoAll, "none": mute} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, listen(t, "tcp", serve), func(c *Config) {
				c.Requests, c.Duration, c.Timeout = 0, time.Hour, time.Hour
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			g, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if name == "answers" {
				onAnswer(t, cfg, g, cancel)
			} else {
				cfg.Probe = func(over bool) { time.AfterFunc(300*time.Millisecond, cancel) }
			}
			r, err := g.Run(ctx)
			if err != nil || !r.Interrupted || (r.Totals.Requests > 0) != (name == "answers") {
				t.Errorf("%+v, %v", r, err)
			}
			if time.Duration(r.Elapsed) > time.Minute {
				t.Errorf("elapsed %v", r.Elapsed)
			}
		})
	}
}

func TestIdleConnections(t *testing.T) {
	for _, scheme := range []string{"tcp", "tls"} {
		t.Run(scheme, func(t *testing.T) {
			var open atomic.Int64
			url := listen(t, scheme, func(c net.Conn) {
				if c, ok := c.(*tls.Conn); ok {
					c.Handshake() // which the client's end may have cut short
					if c.ConnectionState().Version == 0 {
						return // not even a ClientHello has come
					}
				}
				open.Add(1)
				echoAll(c)
			})
			runFine(t, config(t, url, func(c *Config) { c.Idle = 20 }), 60)
			// The server may accept the last ones after their end.
			testenv.Until(t, "3 connections and 20 idle ones",
				func() bool { return open.Load() >= 23 })
			if n := open.Load(); n != 23 {
				t.Errorf("%d connections, want 3 and 20 idle ones", n)
			}
		})
	}
}

func TestLive(t *testing.T) {
	cfg := config(t, listen(t, "tcp", echoAll), func(c *Config) {
		c.Requests, c.Duration = 0, 1200*time.Millisecond
	})
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := g.Live(); n != 0 {
		t.Errorf("%d requests before the start", n)
	}
	r, err := g.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n, seconds := g.Live()
	if n != r.Totals.Requests || len(seconds) < 1 || seconds[0].P50 == 0 {
		t.Errorf("%d %+v\n%+v", n, seconds, r.Totals)
	}
	if n := len(r.Series); n < 2 || r.Series[n-1].Length >= result.Duration(time.Second) {
		t.Errorf("%d seconds, the last %v long", n, r.Series[n-1].Length)
	}
}

func TestParseTarget(t *testing.T) {
	for url, want := range map[string]string{
		"tcp://127.0.0.1:7":       "127.0.0.1:7",
		"http://127.0.0.1/a?b":    "127.0.0.1:80",
		"https://[::1]/":          "[::1]:443",
		"redis://127.0.0.1":       "127.0.0.1:6379",
		"tcp://127.0.0.1":         "want tcp://HOST:PORT",
		"tcp://:7":                "want tcp://HOST:PORT",
		"unix://":                 "want unix:///PATH",
		"ftp://127.0.0.1":         "want a URL with one of tcp://",
		"127.0.0.1:80":            "want a URL",
		"tcp://127.0.0.1:no-port": "want a URL",
	} {
		targets, err := ParseTargets(url)
		switch {
		case err != nil && !strings.Contains(err.Error(), want), err == nil &&
			targets[0].Addr.String() != want:
			t.Errorf("%s: %+v, %v, want %s", url, targets, err, want)
		}
	}
}

// TestSilentServer: a closed loop ends with its window though nothing has been
// answered, an open one with the time-outs of what it has intended.
func TestSilentServer(t *testing.T) {
	for _, pipeline := range []int{1, 3} {
		url := listen(t, "tcp", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		r, err := run(t, config(t, url, func(c *Config) {
			c.Requests, c.Duration, c.Timeout, c.Pipeline = 0, 100*time.Millisecond, time.Hour,
				pipeline
		}))
		if err == nil || !strings.Contains(err.Error(), "no request was answered within 100ms") ||
			r.Interrupted || r.Totals.Errors.Sum() != 0 {
			t.Errorf("closed loop: %v, %+v", err, r.Totals)
		}
		r, err = run(t, config(t, url, func(c *Config) {
			c.Requests, c.Duration, c.Rate = 0, 100*time.Millisecond, 100
			c.Timeout, c.Pipeline = 300*time.Millisecond, pipeline
		}))
		if err == nil || r.Totals.Errors.Timeout != r.Totals.Intended ||
			!strings.Contains(r.Totals.FirstError, "no answer within 300ms") {
			t.Errorf("open loop: %v, %+v", err, r.Totals)
		}
	}
}

// TestSlowRate: the window is as long as was asked for, though the last request
// is answered before its end.
func TestSlowRate(t *testing.T) {
	url := listen(t, "tcp", echoAll)
	r, err := run(t, config(t, url, func(c *Config) {
		c.Requests, c.Duration, c.Rate = 0, 500*time.Millisecond, 5
	}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Totals.Requests != 3 || r.Elapsed < result.Duration(500*time.Millisecond) {
		t.Errorf("%d requests in %v", r.Totals.Requests, r.Elapsed)
	}
}
