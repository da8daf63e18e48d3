package main

import (
	"flag"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/gen"
)

// loadConfig is the checked command line of load.
type loadConfig struct {
	gen.Config
	urls   []string
	limits []limit
	pid    int
	quiet  bool

	json, csv string
}

// outputs are the files that are written at the end.
func (lc *loadConfig) outputs() []string {
	return []string{lc.json, lc.csv}
}

const loadUsage = `URL [flags]

  netco-bench load tcp://127.0.0.1:7 -c 100 -d 30s        closed loop: each connection sends, waits, sends
  netco-bench load http://10.0.0.5/ -rate 10k             open loop: 10,000 requests/s, whatever the server does
  netco-bench load https://host/api -H 'Accept: */*' -method POST -body @order.json -insecure
  netco-bench load h2://127.0.0.1:8080/ -c 4 -pipeline 100      HTTP/2: 100 streams on each connection
  netco-bench load redis://127.0.0.1 -redis 'SET key:{rand} {size}' -size 64:80,4k:20 -pipeline 16
  netco-bench load ws://127.0.0.1:8080/echo -c 1k -idle 9k     and 9,000 connections that are only open
  netco-bench load http://127.0.0.1/ -rate 500 -max p99=5ms -max errors=0.1%    exit code 3 if one is broken
  netco-bench load unix:///run/echo.sock -n 1M -verify -json r.json -csv r.csv

URL is tcp, udp, unix, tls (echo servers), http, https, h2 (without TLS; with it: https and -alpn h2),
redis, ws or wss; or -targets FILE has a URL in each line. Numbers may be 10k or 1M, sizes 4k or 1M
(of 1024), times 500ms or 1m30s. Latency in an open loop counts from the intended time of sending:
docs/LOAD.md says why. Exit code: 0, 1 it failed or all answers were errors, 2 a mistake, 3 a -max
is broken.`

// loadTexts are flags that need more parsing than package flag does.
type loadTexts struct {
	arrival, ramp, alpn, body  string
	targets, cert, key, cacert string
}

// parseLoad reads the command line: a URL, and flags in front of it or behind.
func parseLoad(args []string, stdout io.Writer) (*loadConfig, error) {
	cfg := &loadConfig{}
	cfg.Mix = gen.Mix{{Size: 64, Weight: 1}}
	var text loadTexts
	fs := loadFlagSet(cfg, &text)
	var err error
	if cfg.urls, err = parseAround(fs, loadUsage, args, stdout); err != nil {
		return nil, err
	}
	if len(cfg.urls) > 1 {
		return nil, usagef("unexpected argument %q: the target is %s", cfg.urls[1], cfg.urls[0])
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return cfg, cfg.check(&text, given)
}

func loadFlagSet(cfg *loadConfig, text *loadTexts) *flag.FlagSet {
	fs := flag.NewFlagSet("load", flag.ContinueOnError)
	cfg.Connections, cfg.Threads, cfg.Pipeline = 50, max(1, runtime.NumCPU()/2), 1
	cfg.Duration, cfg.Timeout = 10*time.Second, 5*time.Second
	number := func(p *int, name string, least, most int, about string) {
		fs.Var(numberValue(p, least, most), name, about)
	}
	number(&cfg.Connections, "c", 1, 1_000_000, "`connections`")
	number(&cfg.Threads, "threads", 1, 1024, "`threads` of the generator")
	number(&cfg.Pipeline, "pipeline", 1, 100_000, "`requests` in flight on a connection at most; "+
		"HTTP/2: its streams")
	number(&cfg.Churn, "churn", 0, math.MaxInt32, "close a connection after so many `requests` "+
		"and open another; 0: never")
	number(&cfg.Idle, "idle", 0, 1_000_000, "so many more `connections` that only stay open, "+
		"after their handshakes")
	number(&cfg.pid, "pid", 1, math.MaxInt32, "measure the server with this `pid`: CPU, memory, "+
		"switches, calls")
	fs.Func("n", "end after so many `requests`, 0: no limit; without -d "+
		"there is no other end", cfg.setCount)
	fs.Func("rate", "open loop: requests per `second`, over all connections; 0: a closed loop",
		cfg.setRate)
	fs.Var(&value{cfg.Mix.String(), cfg.setMix}, "size", "`bytes` of a request, or a mix such as "+
		"64:80,4k:20")
	fs.Func("work", "`mix` of classes as echo's -work: a request's first byte is its class, and "+
		"latencies\nare told by class", cfg.setWork)
	fs.Var(durationValue(&cfg.Duration, minDuration), "d", "`duration` of the measurement")
	fs.Var(durationValue(&cfg.Timeout, time.Millisecond), "timeout",
		"`time` for an answer, and for a connect")
	fs.Var(durationValue(&cfg.Warmup, 0), "warmup", "`time` of load before the measurement")
	fs.StringVar(&text.arrival, "arrival", "uniform", "open loop: uniform or poisson `distances`")
	fs.StringVar(&text.ramp, "ramp", "", "open loop: let the rate grow, `FROM:TIME`, such as 0:30s")
	fs.Uint64Var(&cfg.Seed, "seed", 0, "of what is random")
	fs.BoolVar(&cfg.Verify, "verify", false, "compare every byte of an echo with what was sent")
	fs.StringVar(&cfg.Method, "method", "", "HTTP `method`; default GET, with -body POST")
	fs.StringVar(&text.body, "body", "", "HTTP `body`, or @FILE; {size} and {rand} are replaced")
	fs.StringVar(&cfg.Host, "host", "", "HTTP header Host; default: of the URL")
	fs.Func("H", "HTTP `header` 'Name: value', may be repeated", cfg.addHeader)
	fs.StringVar(&cfg.Redis, "redis", "PING", "Redis `command`; {rand}, {rand:N} and {size} are "+
		"replaced")
	fs.StringVar(&text.targets, "targets", "", "`file` with a URL in each line, in place of URL; "+
		"all of one scheme")
	fs.BoolVar(&cfg.Insecure, "insecure", false, "TLS: accept any certificate")
	fs.StringVar(&text.cert, "cert", "", "TLS: `file` of the client's certificate, PEM")
	fs.StringVar(&text.key, "key", "", "TLS: `file` of its key; default: that of -cert")
	fs.StringVar(&text.cacert, "cacert", "", "TLS: `file` of the certificates to trust in place "+
		"of the system's, PEM")
	fs.StringVar(&text.alpn, "alpn", "", "TLS: `protocols` to offer, such as http/1.1; h2 makes "+
		"https HTTP/2")
	fs.Func("max", "`limit` such as p99=5ms, max=1s, mean=1ms, errors=0.1% or errors=10; may be "+
		"repeated", cfg.addLimit)
	fs.StringVar(&cfg.json, "json", "", "write the result to a `file`, - is standard output")
	fs.StringVar(&cfg.csv, "csv", "", "write a line for each second to a `file`")
	fs.BoolVar(&cfg.quiet, "q", false, "print nothing but errors")
	return fs
}

// check is what concerns more than one flag.
func (lc *loadConfig) check(text *loadTexts, given map[string]bool) error {
	if err := lc.readTargets(text.targets); err != nil {
		return err
	}
	scheme, _, _ := strings.Cut(lc.urls[0], "://")
	if !slices.Contains(gen.Protocols, scheme) {
		return usagef("target %q: want a URL with one of %s://", lc.urls[0],
			strings.Join(gen.Protocols, ":// "))
	}
	for name, schemes := range flagsOf {
		if given[name] && !slices.Contains(schemes, scheme) {
			return usagef("-%s is for %s, not for %s", name, strings.Join(schemes, ", "), scheme)
		}
	}
	for _, name := range []string{"arrival", "ramp"} {
		if given[name] && lc.Rate == 0 {
			return usagef("-%s is for an open loop: give a -rate", name)
		}
	}
	if lc.Requests > 0 && !given["d"] {
		lc.Duration = 0
	}
	lc.Threads = min(lc.Threads, lc.Connections)
	switch text.arrival {
	case "uniform", "poisson":
		lc.Poisson = text.arrival == "poisson"
	default:
		return usagef("-arrival %q: want uniform or poisson", text.arrival)
	}
	if inFlight := lc.Pipeline * lc.Mix.Largest(); inFlight > maxInFlight {
		return usagef("-pipeline %d of -size %s: %d bytes in flight on a connection, want %d at "+
			"most", lc.Pipeline, lc.Mix, inFlight, maxInFlight)
	}
	if text.alpn != "" {
		lc.ALPN = strings.Split(text.alpn, ",")
	}
	if lc.Body = text.body; strings.HasPrefix(text.body, "@") {
		b, err := os.ReadFile(text.body[1:])
		if err != nil {
			return usagef("-body: %v", err)
		}
		lc.Body = string(b)
	}
	if err := lc.readCertificates(text); err != nil {
		return err
	}
	return lc.parseRamp(text.ramp)
}

var (
	overHTTP = []string{"http", "https", "h2"}
	overTLS  = []string{"tls", "https", "wss"}
	overEcho = []string{"tcp", "udp", "unix", "tls", "ws", "wss"}
)

// flagsOf are flags that only some protocols have.
var flagsOf = map[string][]string{
	"method": overHTTP, "body": overHTTP, "H": {"http", "https", "h2", "ws", "wss"},
	"host":     {"http", "https", "h2", "ws", "wss"},
	"insecure": overTLS, "alpn": overTLS, "cert": overTLS, "key": overTLS, "cacert": overTLS,
	"redis": {"redis"}, "verify": overEcho, "work": {"tcp", "udp", "unix", "tls"},
}

func (lc *loadConfig) parseRamp(s string) (err error) {
	if s == "" {
		return nil
	}
	from, over, ok := strings.Cut(s, ":")
	if ok {
		lc.RampFrom, err = parseNumber(from)
	}
	if ok && err == nil {
		lc.Ramp, err = time.ParseDuration(over)
	}
	if !ok || err != nil || lc.Ramp <= 0 || lc.RampFrom < 0 {
		return usagef("-ramp %q: want the rate to begin with and how long it grows, such as 0:30s",
			s)
	}
	return nil
}
