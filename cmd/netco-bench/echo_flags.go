package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/cgroup"
	"github.com/netco-go/netco/cmd/netco-bench/internal/cpulist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/load"
	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
)

const (
	maxSize     = 16 << 20
	maxInFlight = 64 << 20 // bytes per connection
	minDuration = 10 * time.Millisecond
	maxQuota    = 1024.0
	maxBusy     = 1024
	maxRate     = 10_000_000
	maxIntended = 1 << 26 // requests per round; 16 bytes each
)

// echoConfig is the checked command line of echo or proxy.
type echoConfig struct {
	Conns      []int         `json:"conns"`
	Traffic    []traffic     `json:"traffic"`
	Rates      []int         `json:"rates,omitempty"` // of an open loop; none for a closed one
	Arrival    string        `json:"arrival,omitempty"`
	Duration   time.Duration `json:"duration_ns"`
	Warmup     time.Duration `json:"warmup_ns"`
	Rounds     int           `json:"rounds"`
	Procs      int           `json:"procs"`
	Servers    []string      `json:"servers"`
	Spin       string        `json:"spin"`
	Processors int           `json:"processors"`
	Work       work.Mix      `json:"work,omitempty"`
	Threads    int           `json:"threads"`
	ServerCPUs []int         `json:"server_cpus,omitempty"`
	ClientCPUs []int         `json:"client_cpus,omitempty"`
	Verify     bool          `json:"verify"`
	Stall      time.Duration `json:"stall_ns"`
	Quota      float64       `json:"quota,omitempty"` // cores
	Busy       int           `json:"busy,omitempty"`
	JSON       string        `json:"-"`

	proxy  bool
	plan   work.Plan // of Work, for this machine
	cgroup string    // directory of the servers' cgroup, if there is a Quota
}

// traffic is messages of one size, so many of them in flight on each
// connection.
type traffic struct {
	Size     int `json:"size"`
	Pipeline int `json:"pipeline"`
}

func (t traffic) String() string {
	if t.Pipeline == 1 {
		return fmt.Sprint(t.Size)
	}
	return fmt.Sprintf("%dx%d", t.Size, t.Pipeline)
}

// echoText holds the flags that need parsing beyond what package flag does.
type echoText struct {
	conns, sizes, rates, servers, work string

	pin   bool
	given map[string]bool // flags of the command line
}

// flags are those that echo and proxy have in common; what c and text hold are
// their defaults.
func (c *echoConfig) flags(fs *flag.FlagSet, text *echoText) {
	c.Stall = load.DefaultStall
	fs.StringVar(&text.conns, "conns", text.conns, "connections; a `list` such as 1,64,1000 gives "+
		"a table each")
	fs.DurationVar(&c.Duration, "duration", c.Duration, "measured `time` per round")
	fs.DurationVar(&c.Warmup, "warmup", c.Warmup, "`time` under load before each measurement")
	fs.IntVar(&c.Rounds, "rounds", c.Rounds, "rounds per server")
	fs.IntVar(&c.Procs, "procs", 0, "the servers' GOMAXPROCS; 0 is Go's default, all cores")
	fs.StringVar(&text.servers, "servers", text.servers, "servers to compare, a `list`")
	fs.IntVar(&c.Processors, "processors", 0, "netco's Processors; 0 is one for each CPU that "+
		"GOMAXPROCS allows")
	fs.StringVar(&c.Spin, "spin", "auto", "netco's spinning before sleep: auto or off")
	fs.IntVar(&c.Threads, "threads", 1, "generator threads")
	fs.BoolVar(&text.pin, "pin", false, "one core for the server, another for the rest; implies "+
		"-procs 1")
	fs.BoolVar(&c.Verify, "verify", false, "compare every echoed byte (lengths are always checked)")
	fs.StringVar(&c.JSON, "json", "", "write every round and the environment to `file`")
}

func parseEcho(args []string, stdout io.Writer) (*echoConfig, error) {
	c := &echoConfig{Duration: 4 * time.Second, Warmup: time.Second, Rounds: 3}
	text := echoText{conns: "64", servers: "net,netco"}
	fs := flag.NewFlagSet("echo", flag.ContinueOnError)
	c.flags(fs, &text)
	size := fs.Int("size", 64, "`bytes` per request")
	pipeline := fs.Int("pipeline", 1, "`requests` in flight per connection")
	fs.StringVar(&text.rates, "rate", "", "open loop: `requests` per second over all "+
		"connections, each sent at its intended time\n"+
		"whatever was answered, latency from that time; a list such as 10k,30k gives a table each")
	fs.StringVar(&c.Arrival, "arrival", "", "intended times with -rate: uniform (equally spaced "+
		"on each connection, the default) or poisson")
	fs.StringVar(&text.work, "work", "", "CPU `time` that the server computes for each request, "+
		"such as 40us; or a mix, such as\n5us,2ms:0.05, where 2 ms are for 5 % of the requests, "+
		"with the latencies of each kind apart")
	fs.Float64Var(&c.Quota, "quota", 0, "part of a core, such as 0.2, that a cpu cgroup leaves "+
		"the server; 0 is no cgroup")
	fs.IntVar(&c.Busy, "busy", 0, "`processes` that run busy loops beside all rounds")
	if err := parseFlags(fs, args, stdout); err != nil {
		return nil, err
	}
	text.given = map[string]bool{}
	fs.Visit(func(f *flag.Flag) { text.given[f.Name] = true })
	text.sizes = traffic{*size, *pipeline}.String()
	return c, c.read(text, echoServers)
}

func parseProxy(args []string, stdout io.Writer) (*echoConfig, error) {
	c := &echoConfig{Duration: 3 * time.Second, Warmup: 500 * time.Millisecond, Rounds: 5,
		proxy: true}
	text := echoText{conns: "16", servers: "net-copy,net-splice,netco"}
	fs := flag.NewFlagSet("proxy", flag.ContinueOnError)
	c.flags(fs, &text)
	fs.StringVar(&text.sizes, "size", "1024,65536,1048576x4", "bytes per message, and how many "+
		"are on their way on a connection; a `list`, a table each")
	if err := parseFlags(fs, args, stdout); err != nil {
		return nil, err
	}
	return c, c.read(text, proxyServers)
}

// read parses and checks what package flag has not.
func (c *echoConfig) read(text echoText, servers map[string]server) error {
	for _, step := range []func() error{
		func() error { return c.readLists(text, servers) },
		func() error { return c.readRates(text) },
		func() error { return c.pin(text.pin) },
		func() error { return c.readWork(text.work) },
		c.validate,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *echoConfig) readLists(text echoText, servers map[string]server) error {
	for s := range strings.SplitSeq(text.conns, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 {
			return usagef("-conns %q: %q is no positive number", text.conns, s)
		}
		c.Conns = append(c.Conns, n)
	}
	for s := range strings.SplitSeq(text.sizes, ",") {
		t := traffic{Pipeline: 1}
		size, count, many := strings.Cut(strings.TrimSpace(s), "x")
		var err error
		t.Size, err = strconv.Atoi(size)
		if many && err == nil {
			t.Pipeline, err = strconv.Atoi(count)
		}
		if err != nil || t.Size < 1 || t.Size > maxSize || t.Pipeline < 1 ||
			t.Pipeline > maxInFlight/t.Size {
			return usagef("-size %s: want up to %d bytes, and -pipeline of up to %d in flight",
				s, maxSize, maxInFlight)
		}
		c.Traffic = append(c.Traffic, t)
	}
	for s := range strings.SplitSeq(text.servers, ",") {
		s = strings.TrimSpace(s)
		switch {
		case servers[s] == nil:
			return usagef("-servers: unknown server %q (there are %s)", s,
				strings.Join(slices.Sorted(maps.Keys(servers)), ", "))
		case slices.Contains(c.Servers, s):
			return usagef("-servers: %s twice", s)
		}
		c.Servers = append(c.Servers, s)
	}
	return nil
}

func (c *echoConfig) readRates(text echoText) error {
	if !text.given["rate"] {
		if text.given["arrival"] {
			return usagef("-arrival goes with -rate")
		}
		return nil
	}
	if text.given["pipeline"] {
		return usagef("-pipeline is for the closed loop: with -rate requests are in flight as " +
			"their times come")
	}
	for s := range strings.SplitSeq(text.rates, ",") {
		n, err := parseNumber(strings.TrimSpace(s))
		if err != nil || n != float64(int(n)) || n < 1 || n > maxRate {
			return usagef("-rate %q: %q is not a whole number of requests per second, 1 to 10M, "+
				"such as 500, 30k or 1.5M", text.rates, s)
		}
		c.Rates = append(c.Rates, int(n))
	}
	if c.Arrival == "" {
		c.Arrival = "uniform"
	}
	return nil
}

// workless are the servers that compute nothing.
var workless = []string{"c", "netco-idle"}

func (c *echoConfig) readWork(text string) (err error) {
	if text == "" {
		return nil
	}
	if c.Work, err = work.Parse(text); err != nil {
		return usagef("-work: %v", err)
	}
	for _, s := range c.Servers {
		if slices.Contains(workless, s) {
			return usagef("-work: the server %s computes nothing", s)
		}
	}
	size := c.Traffic[0].Size
	if period := len(load.Stream()) - 1; len(c.Work) > 1 &&
		(size < work.MinSize || size%period == 0) {
		return usagef("-work with several times needs a -size of %d or more that is no multiple "+
			"of %d", work.MinSize, period)
	}
	return nil
}

// planWork measures this machine for what the servers are to compute.
func (c *echoConfig) planWork() error {
	if c.Work == nil {
		return nil
	}
	speed, err := work.Speed()
	if err != nil {
		return fmt.Errorf("-work: %w", err)
	}
	c.plan = work.NewPlan(c.Work, speed, load.Stream())
	return nil
}

// pin picks a core for the server and one for the generator, if that is wanted.
func (c *echoConfig) pin(wanted bool) error {
	if !wanted {
		return nil
	}
	if c.Procs > 1 {
		return usagef("-pin is for -procs 1")
	}
	cpus, err := cpulist.Two()
	if err != nil {
		return usagef("-pin: %v", err)
	}
	c.Procs, c.ServerCPUs, c.ClientCPUs = 1, cpus[:1], cpus[1:]
	return nil
}

func (c *echoConfig) validate() error {
	for _, check := range []struct {
		bad bool
		msg string
	}{
		{c.Duration < minDuration, fmt.Sprintf("-duration must be at least %v", minDuration)},
		{c.Warmup < 0, "-warmup must not be negative"},
		{c.Rounds < 1, "-rounds must be at least 1"},
		{c.Procs < 0, "-procs must not be negative"},
		{c.Threads < 1, "-threads must be at least 1"},
		{c.Processors < 0, "-processors must not be negative"},
		{!slices.Contains([]string{"auto", "off"}, c.Spin), "-spin must be auto or off"},
		{!slices.Contains([]string{"", "uniform", "poisson"}, c.Arrival),
			"-arrival must be uniform or poisson"},
		{c.Quota != 0 && !(c.Quota >= cgroup.MinQuota && c.Quota <= maxQuota),
			fmt.Sprintf("-quota must be %v to %v cores", cgroup.MinQuota, maxQuota)},
		{c.Busy < 0 || c.Busy > maxBusy, fmt.Sprintf("-busy must be 0 to %d", maxBusy)},
	} {
		if check.bad {
			return usagef("%s", check.msg)
		}
	}
	for _, rate := range c.Rates {
		if n := load.Intended(rate, c.Duration); n == 0 {
			return usagef("-rate %d intends no request within -duration %v", rate, c.Duration)
		}
		if load.Intended(rate, c.Warmup+c.Duration) > maxIntended {
			return usagef("-rate %d times -duration and -warmup must not exceed %d requests", rate,
				maxIntended)
		}
	}
	return checkNoFile(slices.Max(c.Conns))
}

// total estimates how long the whole run takes.
func (c *echoConfig) total() time.Duration {
	rounds := len(c.loads()) * c.Rounds * len(c.Servers)
	return time.Duration(rounds) * (c.Warmup + c.Duration)
}

// An echoLoad is the load of one section.
type echoLoad struct {
	conns int
	traffic
	rate int // 0 for a closed loop
}

func (l echoLoad) String() string {
	s := fmt.Sprintf("%d conns, %v bytes", l.conns, l.traffic)
	if l.rate > 0 {
		s += fmt.Sprintf(", %d/s", l.rate)
	}
	return s
}

// loads returns the sections' loads in order.
func (c *echoConfig) loads() (loads []echoLoad) {
	for _, conns := range c.Conns {
		for _, t := range c.Traffic {
			for _, rate := range c.Rates {
				loads = append(loads, echoLoad{conns, t, rate})
			}
			if len(c.Rates) == 0 {
				loads = append(loads, echoLoad{conns, t, 0})
			}
		}
	}
	return loads
}
