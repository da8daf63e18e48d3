package gen

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Config is what to send to which server. Flags of netco-bench load set it.
type Config struct {
	Target      *Target
	Connections int
	Idle        int
	Threads     int

	Rate     float64 // requests per second of an open loop; 0 is a closed loop
	Poisson  bool
	Seed     uint64
	Ramp     time.Duration // how long the rate grows from RampFrom to Rate
	RampFrom float64

	Pipeline int
	Mix      Mix
	Requests uint64 // 0: no limit
	Duration time.Duration
	Warmup   time.Duration
	Timeout  time.Duration
	Churn    int // requests per connection; 0: no limit
	Verify   bool

	Method, Host, Body string
	Header             []string
	Redis              string

	Insecure bool
	ALPN     []string

	// Probe, if set, is called when the window begins, and with over when it
	// is over, for measuring the server between the two.
	Probe func(over bool)
}

func (c *Config) open() bool { return c.Rate > 0 }

// Target is an address with a protocol.
type Target struct {
	URL      string // as given
	Protocol string // one of Protocols
	TLS      bool
	Network  string         // tcp, udp or unix
	Addr     netip.AddrPort // of tcp and udp
	Path     string         // of a Unix socket
	Host     string         // host as in the URL, for TLS
	HostPort string         // as in the URL, for the header Host
	Request  string         // path and query of HTTP
}

// Protocols are the schemes of a target.
var Protocols = []string{"tcp", "udp", "unix", "tls", "http", "https", "h2", "redis", "ws", "wss"}

var defaultPorts = map[string]string{"http": "80", "https": "443", "h2": "80", "redis": "6379",
	"ws": "80", "wss": "443"}

// ParseTarget reads a URL and looks up its host.
func ParseTarget(s string) (*Target, error) {
	u, err := url.Parse(s)
	if err != nil || !slices.Contains(Protocols, u.Scheme) {
		return nil, fmt.Errorf("target %q: want a URL with one of %s://", s,
			strings.Join(Protocols, ":// "))
	}
	t := &Target{URL: s, Protocol: u.Scheme, Network: "tcp", Host: u.Hostname(), HostPort: u.Host}
	t.TLS = u.Scheme == "tls" || u.Scheme == "https" || u.Scheme == "wss"
	switch u.Scheme {
	case "unix":
		if t.Network, t.Path = "unix", u.Host+u.Path; t.Path == "" {
			return nil, fmt.Errorf("target %q: want unix:///PATH", s)
		}
		return t, nil
	case "udp":
		t.Network = "udp"
	}
	t.Request = u.RequestURI()
	port := u.Port()
	if port == "" {
		port = defaultPorts[u.Scheme]
	}
	if port == "" || t.Host == "" {
		return nil, fmt.Errorf("target %q: want %s://HOST:PORT", s, u.Scheme)
	}
	return t, t.lookUp(port)
}

func (t *Target) lookUp(port string) error {
	// One address, so that all connections load one server.
	a, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(t.Host, port))
	if err != nil {
		return fmt.Errorf("target %s: %w", t.URL, err)
	}
	ip, _ := netip.AddrFromSlice(a.IP)
	t.Addr = netip.AddrPortFrom(ip.Unmap().WithZone(a.Zone), uint16(a.Port))
	return nil
}

func (c *Config) tlsConfig() *tls.Config {
	if !c.Target.TLS {
		return nil
	}
	conf := &tls.Config{
		ServerName: c.Target.Host, InsecureSkipVerify: c.Insecure, NextProtos: c.ALPN,
		ClientSessionCache: tls.NewLRUClientSessionCache(64),
	}
	if c.ALPN == nil && c.Target.Protocol != "tls" {
		conf.NextProtos = []string{"http/1.1"}
	}
	return conf
}

// A plan is what all connections of a run have in common.
type plan struct {
	cfg      *Config
	tls      *tls.Config
	stream   []byte    // of echo
	template *template // of the others
	h2       *h2Template
	payload  []byte // of ws, if answers are compared
	big      bool   // what goes out at once may fill the socket's buffers
	upgrade  []byte // of ws: the request in front of all
}

// maxTogether is how many bytes are written without anything being read
// meanwhile: less than the smallest socket buffers hold.
const maxTogether = 32 << 10

func newPlan(cfg *Config) (*plan, error) {
	p := &plan{cfg: cfg, tls: cfg.tlsConfig()}
	var err error
	switch cfg.Target.Protocol {
	case "http", "https", "h2":
		if cfg.http2() {
			p.h2, err = newH2Template(cfg.http(), cfg.Mix, cfg.scheme())
			break
		}
		p.template, err = newHTTPTemplate(cfg.http(), cfg.Mix, cfg.Pipeline)
	case "redis":
		p.template, err = newRESPTemplate(cfg.Redis, cfg.Mix, cfg.Pipeline)
	case "ws", "wss":
		p.template = newWSTemplate(cfg.Mix, cfg.Pipeline)
		p.upgrade = upgradeRequest(cfg)
		if cfg.Verify {
			p.payload = payload(cfg.Mix.largest())
		}
	default:
		p.stream = newStream(cfg.Mix.largest() * cfg.Pipeline)
	}
	if err != nil {
		return nil, err
	}
	longest := cfg.Mix.largest()
	if p.template != nil {
		for _, v := range p.template.variants {
			longest = max(longest, len(v.text))
		}
	}
	p.big = longest*cfg.Pipeline > maxTogether && cfg.Target.Network != "udp" && p.h2 == nil
	return p, nil
}

// http2 reports whether requests are HTTP/2's.
func (c *Config) http2() bool {
	return c.Target.Protocol == "h2" ||
		c.Target.Protocol == "https" && slices.Contains(c.ALPN, "h2")
}

// scheme is the :scheme of HTTP/2.
func (c *Config) scheme() string {
	if c.Target.TLS {
		return "https"
	}
	return "http"
}

func (c *Config) http() *httpPlan {
	h := &httpPlan{method: c.Method, target: c.Target.Request, host: c.Host, header: c.Header,
		body: c.Body}
	if h.method == "" {
		h.method = "GET"
		if c.Body != "" {
			h.method = "POST"
		}
	}
	if h.host == "" {
		h.host = c.Target.HostPort
	}
	return h
}

// codec returns one for a connection of w.
func (p *plan) codec(w *worker) codec {
	s := sender{template: p.template, rng: w.rng}
	switch p.cfg.Target.Protocol {
	case "http", "https", "h2":
		if p.h2 != nil {
			return newH2Codec(p.h2, w.rng, p.cfg.Method == "HEAD")
		}
		c := &httpCodec{sender: s}
		c.head = p.cfg.Method == "HEAD"
		return c
	case "redis":
		return &respCodec{sender: s}
	case "ws", "wss":
		c := &wsCodec{sender: s}
		c.sender.drawn = &c.drawn
		c.payload = p.payload
		return c
	}
	return &echo{
		mix: p.cfg.Mix, weights: p.cfg.Mix.total(), rng: w.rng, stream: p.stream,
		verify: p.cfg.Verify,
		sendAt: w.rng.IntN(streamPeriod),
	}
}
