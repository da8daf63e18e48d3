package gen

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
)

// Config is what to send to which server. Flags of netco-bench load set it.
type Config struct {
	// Targets are all of one protocol. Connections are dealt out to the servers
	// among them in turn; one to a server of HTTP draws from its URLs.
	Targets     []*Target
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
	Classes  work.Mix // of requests that are sent back, if there are several
	Requests uint64   // 0: no limit
	Duration time.Duration
	Warmup   time.Duration
	Timeout  time.Duration
	Churn    int // requests per connection; 0: no limit
	Verify   bool

	Method, Host, Body string
	Header             []string
	Redis              string

	Insecure     bool
	ALPN         []string
	Certificates []tls.Certificate // of the client
	RootCAs      *x509.CertPool    // nil: the system's

	// Probe, if set, is called when the window begins, and with over when it
	// is over, for measuring the server between the two.
	Probe func(over bool)

	// After, if set, is called when the load is over. The connections stay
	// open until it returns.
	After func() error
}

func (c *Config) open() bool { return c.Rate > 0 }

// protocol is that of all targets.
func (c *Config) protocol() string { return c.Targets[0].Protocol }

// targetText names the targets in a result.
func (c *Config) targetText() string {
	s := c.Targets[0].URL
	if n := len(c.Targets) - 1; n > 0 {
		s = fmt.Sprintf("%s and %d more", s, n)
	}
	return s
}

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

// DefaultPorts are those that a URL need not name.
var DefaultPorts = map[string]string{"http": "80", "https": "443", "h2": "80", "redis": "6379",
	"ws": "80", "wss": "443"}

// escapedPlace is a {rand}, {rand:N} or {size} in a path, as package url writes
// it.
var escapedPlace = regexp.MustCompile("%7B(rand(?::[0-9]+)?|size)%7D")

// ParseTargets reads URLs of one protocol and looks up their hosts, each once.
func ParseTargets(urls ...string) ([]*Target, error) {
	var all []*Target
	known := map[string]netip.AddrPort{}
	for _, s := range urls {
		t, err := parseTarget(s, known)
		if err != nil {
			return nil, err
		}
		if all = append(all, t); t.Protocol != all[0].Protocol {
			return nil, fmt.Errorf("targets %s and %s: want URLs of one scheme", all[0].URL, s)
		}
	}
	return all, nil
}

func parseTarget(s string, known map[string]netip.AddrPort) (*Target, error) {
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
	t.Request = escapedPlace.ReplaceAllString(u.RequestURI(), "{$1}")
	port := u.Port()
	if port == "" {
		port = DefaultPorts[u.Scheme]
	}
	if port == "" || t.Host == "" {
		return nil, fmt.Errorf("target %q: want %s://HOST:PORT", s, u.Scheme)
	}
	return t, t.lookUp(net.JoinHostPort(t.Host, port), known)
}

func (t *Target) lookUp(host string, known map[string]netip.AddrPort) error {
	if addr, ok := known[host]; ok {
		t.Addr = addr
		return nil
	}
	// One address, so that all connections load one server.
	a, err := net.ResolveTCPAddr("tcp", host)
	if err != nil {
		return fmt.Errorf("target %s: %w", t.URL, err)
	}
	ip, _ := netip.AddrFromSlice(a.IP)
	t.Addr = netip.AddrPortFrom(ip.Unmap().WithZone(a.Zone), uint16(a.Port))
	known[host] = t.Addr
	return nil
}

func (c *Config) tlsConfig(t *Target) *tls.Config {
	if !t.TLS {
		return nil
	}
	conf := &tls.Config{
		ServerName: t.Host, InsecureSkipVerify: c.Insecure, NextProtos: c.ALPN,
		ClientSessionCache: tls.NewLRUClientSessionCache(64),
		Certificates:       c.Certificates, RootCAs: c.RootCAs,
	}
	if c.ALPN == nil && t.Protocol != "tls" {
		conf.NextProtos = []string{"http/1.1"}
	}
	return conf
}

// A plan is what all connections to one server have in common.
type plan struct {
	cfg      *Config
	target   *Target // the first of the server's
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

// newPlans returns a plan for each server of the targets.
func newPlans(cfg *Config) (plans []*plan, err error) {
	var servers [][]*Target
	known := map[string]int{}
	for _, t := range cfg.Targets {
		server := t.URL
		if slices.Contains([]string{"http", "https", "h2"}, t.Protocol) {
			server = t.HostPort
		}
		i, ok := known[server]
		if !ok {
			i, servers = len(servers), append(servers, nil)
			known[server] = i
		}
		servers[i] = append(servers[i], t)
	}
	for _, targets := range servers {
		p, err := newPlan(cfg, targets)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

func newPlan(cfg *Config, targets []*Target) (*plan, error) {
	t := targets[0]
	p := &plan{cfg: cfg, target: t, tls: cfg.tlsConfig(t)}
	var err error
	switch t.Protocol {
	case "http", "https", "h2":
		if cfg.http2() {
			p.h2, err = newH2Template(cfg.http(targets), cfg.Mix, t)
			break
		}
		p.template, err = newHTTPTemplate(cfg.http(targets), cfg.Mix, cfg.Pipeline)
	case "redis":
		p.template, err = newRESPTemplate(cfg.Redis, cfg.Mix, cfg.Pipeline)
	case "ws", "wss":
		p.template = newWSTemplate(cfg.Mix, cfg.Pipeline)
		p.upgrade = upgradeRequest(cfg, t)
		if cfg.Verify {
			p.payload = payload(cfg.Mix.Largest())
		}
	default:
		p.stream = newStream(cfg.Mix.Largest() * cfg.Pipeline)
	}
	if err != nil {
		return nil, err
	}
	longest := cfg.Mix.Largest()
	if p.template != nil {
		for _, v := range p.template.variants {
			longest = max(longest, len(v.text))
		}
	}
	p.big = longest*cfg.Pipeline > maxTogether && t.Network != "udp"
	return p, nil
}

// http2 reports whether requests are HTTP/2's.
func (c *Config) http2() bool {
	return c.protocol() == "h2" ||
		c.protocol() == "https" && slices.Contains(c.ALPN, "h2")
}

// http is what the requests to one server look like.
func (c *Config) http(targets []*Target) *httpPlan {
	h := &httpPlan{method: c.Method, host: c.Host, header: c.Header, body: c.Body}
	for _, t := range targets {
		h.targets = append(h.targets, t.Request)
	}
	if h.method == "" {
		h.method = "GET"
		if c.Body != "" {
			h.method = "POST"
		}
	}
	if h.host == "" {
		h.host = targets[0].HostPort
	}
	return h
}

// codec returns one for a connection of w.
func (p *plan) codec(w *worker) codec {
	s := sender{template: p.template, rng: w.rng}
	switch p.target.Protocol {
	case "http", "https", "h2":
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
		mix: p.cfg.Mix, weights: p.cfg.Mix.total(), classes: p.cfg.Classes, rng: w.rng,
		stream: p.stream, verify: p.cfg.Verify, sendAt: w.rng.IntN(streamPeriod),
	}
}
