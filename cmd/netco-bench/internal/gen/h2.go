package gen

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/clock"
)

// HTTP/2 is golang.org/x/net's client. It waits as goroutines do, and so each
// stream of a connection is a goroutine, which accounts for its requests under
// worker.mu. A worker's coroutines only publish its figures.

// h2Template is the requests to one server: one for each size of the mix and
// each path.
type h2Template struct {
	mix      Mix // as often as there are paths
	weights  int
	requests []h2Request
}

type h2Request struct {
	fixed  *http.Request // method and host
	path   variant
	header []h2Field
	body   variant
}

type h2Field struct {
	name  string
	value variant
}

// connectionFields are those of HTTP/1.1 that HTTP/2 has no place for.
var connectionFields = []string{"connection", "host", "keep-alive", "proxy-connection",
	"transfer-encoding", "upgrade"}

func newH2Template(p *httpPlan, mix Mix, server *Target) (*h2Template, error) {
	t := &h2Template{mix: slices.Repeat(mix, len(p.targets))}
	t.weights = t.mix.total()
	to := &url.URL{Scheme: "http", Host: server.HostPort}
	if server.TLS {
		to.Scheme = "https"
	}
	content, err := parsePieces(p.body)
	if err != nil {
		return nil, fmt.Errorf("-body: %w", err)
	}
	for i, s := range t.mix {
		payload := payload(s.Size)
		r := h2Request{fixed: &http.Request{Method: p.method, Host: p.host, URL: to}}
		path, err := parsePieces(p.targets[i/len(mix)])
		if err != nil {
			return nil, err
		}
		r.path.pieces(path, payload)
		r.body.pieces(content, payload)
		for _, h := range p.header {
			name, value, err := parseHeader(h)
			if err != nil {
				return nil, err
			}
			if slices.Contains(connectionFields, strings.ToLower(name)) {
				return nil, fmt.Errorf("-H %q: HTTP/2 has no such header; -host sets the host", h)
			}
			all, err := parsePieces(value)
			if err != nil {
				return nil, err
			}
			field := h2Field{name: name}
			field.value.pieces(all, payload)
			r.header = append(r.header, field)
		}
		t.requests = append(t.requests, r)
	}
	return t, nil
}

// draw returns a request.
func (t *h2Template) draw(ctx context.Context, rng *rand.Rand) *http.Request {
	from := &t.requests[t.mix.draw(rng, t.weights)]
	r := from.fixed.WithContext(ctx)
	to := *r.URL
	to.Opaque = string(from.path.fill(nil, rng))
	r.URL, r.Header = &to, http.Header{"User-Agent": nil} // the client would add its own
	for _, f := range from.header {
		r.Header.Add(f.name, string(f.value.fill(nil, rng)))
	}
	if len(from.body.text) > 0 {
		body := from.body.fill(nil, rng)
		r.ContentLength = int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(body)), nil
		}
		r.Body, _ = r.GetBody()
	}
	return r
}

// h2Conn is one connection, or several one after the other.
type h2Conn struct {
	w         *worker
	plan      *plan
	transport http2.Transport // whose only connection is current

	mu      sync.Mutex // held while dialing
	current *http2.ClientConn
	allowed int // requests on it until Config.Churn is reached

	// under worker.mu
	failures int // connections in a row without an answer
	down     bool
}

func newH2Conn(w *worker, p *plan) *h2Conn {
	c := &h2Conn{w: w, plan: p, transport: http2.Transport{AllowHTTP: true,
		StrictMaxConcurrentStreams: true, DisableCompression: true}}
	c.transport.ConnPool = c
	return c
}

// h2Counted counts a connection's bytes, and closes it at the end of the run.
type h2Counted struct {
	net.Conn
	w *worker
}

func (c h2Counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.w.mu.Lock()
	c.w.now.bytesIn += uint64(n)
	c.w.mu.Unlock()
	return n, err
}

func (c h2Counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.w.mu.Lock()
	c.w.now.bytesOut += uint64(n)
	c.w.mu.Unlock()
	return n, err
}

// dial opens a connection. With settle it waits until the server has spoken
// HTTP/2.
func (c *h2Conn) dial(settle bool) (cc *http2.ClientConn, err error) {
	ctx, cancel := context.WithTimeout(c.w.g.running, c.w.g.cfg.Timeout)
	defer cancel()
	start := clock.Now()
	d := net.Dialer{KeepAlive: -1}
	raw, err := d.DialContext(ctx, "tcp", c.plan.target.Addr.String())
	if err != nil {
		return nil, err
	}
	conn, connected := raw, clock.Now()
	if c.plan.tls != nil {
		t := tls.Client(raw, c.plan.tls)
		err := t.HandshakeContext(ctx)
		if err == nil && t.ConnectionState().NegotiatedProtocol != "h2" {
			err = wrongf("the server does not choose h2")
		}
		if err != nil {
			raw.Close()
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
		conn = t
	}
	shaken := clock.Now()
	context.AfterFunc(c.w.g.running, func() { raw.Close() })
	if cc, err = c.transport.NewClientConn(h2Counted{conn, c.w}); err == nil && settle {
		err = cc.Ping(ctx)
	}
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("HTTP/2 handshake: %w", c.reason(err))
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.connect.Record(connected - start)
	if c.plan.tls != nil {
		c.w.tls.Record(shaken - connected)
	}
	return cc, nil
}

// use makes cc the current connection.
func (c *h2Conn) use(cc *http2.ClientConn) {
	if c.current, c.allowed = cc, c.w.g.cfg.Churn; c.allowed == 0 {
		c.allowed = int(^uint(0) >> 1)
	}
}

// GetClientConn returns the current connection, or else opens one, after a
// pause that grows with each one in a row that has given no answer. It is for
// the transport.
func (c *h2Conn) GetClientConn(r *http.Request, _ string) (*http2.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	old := c.current
	if old != nil && c.allowed > 0 && old.CanTakeNewRequest() {
		c.allowed--
		return old, nil
	}
	if old != nil {
		go old.Shutdown(c.w.g.running) // when its streams have ended
	}
	c.current = nil
	c.w.mu.Lock()
	failures := c.failures
	c.failures++ // until there is an answer
	c.w.mu.Unlock()
	if failures > 0 {
		time.Sleep(min(firstPause<<min(failures-1, 10), maxPause))
	}
	cc, err := c.dial(false)
	c.w.mu.Lock()
	c.w.setDown(&c.down, err != nil)
	c.w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.use(cc)
	c.allowed--
	return cc, nil
}

// MarkDead is for the transport.
func (c *h2Conn) MarkDead(*http2.ClientConn) {}

// reason returns an error of a class that count knows.
func (c *h2Conn) reason(err error) error {
	var stream http2.StreamError
	var goAway http2.GoAwayError
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return c.w.g.errTimeout
	case errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errWrong):
		return err
	case errors.As(err, &stream) && stream.Cause != nil &&
		stream.Cause.Error() == "received from peer":
		return fmt.Errorf("%w: RST_STREAM with %v", errClosed, stream.Code)
	case errors.As(err, &goAway):
		return fmt.Errorf("%w: GOAWAY with %v", errClosed, goAway.ErrCode)
	}
	return wrongf("%v", err)
}

// ask sends a request and reads the answer.
func (c *h2Conn) ask(ctx context.Context, rng *rand.Rand) (verdict, error) {
	r, err := c.transport.RoundTrip(c.plan.h2.draw(ctx, rng))
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return 0, err
	}
	v := complete | verdict(r.StatusCode)<<statusShift
	if r.StatusCode >= 400 {
		v |= failed
	}
	return v, nil
}

// stream asks until there is nothing more to send.
func (c *h2Conn) stream(rng *rand.Rand) {
	w := c.w
	for {
		e, ok := w.nextH2()
		if !ok {
			return
		}
		late := max(0, time.Duration(e.sent-w.windowEnd))
		ctx, cancel := context.WithTimeout(w.g.running, w.g.cfg.Timeout-late)
		v, err := c.ask(ctx, rng)
		cancel()
		now := clock.Now()
		w.mu.Lock()
		switch {
		case w.g.running.Err() != nil: // over
		case err != nil:
			w.failed(e, now, c.reason(err))
		default:
			w.answered((*httpCodec)(nil), e, now, v)
			c.failures = 0
		}
		w.mu.Unlock()
	}
}

// nextH2 returns a request to send now.
func (w *worker) nextH2() (e entry, ok bool) {
	at := int64(0)
	if w.schedule != nil {
		if at, ok = <-w.due; !ok {
			return e, false
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := clock.Now()
	if w.schedule == nil {
		return entry{now, now}, w.g.running.Err() == nil && w.more(now)
	}
	if at >= w.windowStart {
		w.lateness.Record(now - at)
	}
	return entry{at, now}, true
}

// dispatch has the streams of an open loop take each intended time when it has
// come. Go's timers would be up to a millisecond late.
func (w *worker) dispatch() {
	defer close(w.due)
	for w.g.running.Err() == nil {
		w.mu.Lock()
		at, ok := w.nextTime(clock.Now())
		w.mu.Unlock()
		if !ok {
			return
		}
		for d := at - clock.Now(); d > 0 && w.g.running.Err() == nil; d = at - clock.Now() {
			pause := unix.NsecToTimespec(min(d, int64(publishEvery)))
			_ = unix.Nanosleep(&pause, nil)
		}
		select {
		case w.due <- at:
		case <-w.g.running.Done():
		}
	}
}

// dialH2 opens the connections and calls done when it is over.
func (w *worker) dialH2(done func()) {
	places := make(chan struct{}, dialers)
	var all sync.WaitGroup
	for _, c := range w.h2 {
		places <- struct{}{}
		all.Go(func() {
			cc, err := c.dial(true)
			w.mu.Lock()
			if c.use(cc); err != nil {
				w.dialErr = c.plan.connectError(err)
			}
			w.mu.Unlock()
			<-places
		})
	}
	all.Wait()
	done()
}

// runH2 starts the streams and calls done when they are through. The last
// connections are only open.
func (w *worker) runH2(done func()) {
	if w.schedule != nil {
		w.due = make(chan int64)
		w.streams.Go(w.dispatch)
	}
	for i, c := range w.h2[:len(w.h2)-len(w.idle)] {
		for s := range w.g.cfg.Pipeline {
			seed := uint64(i*w.g.cfg.Pipeline + s)
			rng := rand.New(rand.NewPCG(w.g.cfg.Seed+uint64(w.index)+2, seed))
			w.streams.Go(func() { c.stream(rng) })
		}
	}
	w.streams.Wait()
	done()
}
