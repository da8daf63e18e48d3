package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net/netip"
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

// echoConfig is the checked command line of echo.
type echoConfig struct {
	Conns      []int         `json:"conns"`
	Size       int           `json:"size"`
	Pipeline   int           `json:"pipeline"`
	Rates      []int         `json:"rates,omitempty"` // of an open loop; none for a closed one
	Arrival    string        `json:"arrival,omitempty"`
	Duration   time.Duration `json:"duration_ns"`
	Warmup     time.Duration `json:"warmup_ns"`
	Rounds     int           `json:"rounds"`
	Procs      int           `json:"procs"`
	Servers    []string      `json:"servers"`
	Addr       netip.Addr    `json:"addr"`
	Spin       string        `json:"spin"`
	Processors int           `json:"processors"`
	MinActive  int           `json:"min_active,omitempty"`
	Work       work.Mix      `json:"work,omitempty"`
	Threads    int           `json:"threads"`
	ServerCPUs []int         `json:"server_cpus,omitempty"`
	ClientCPUs []int         `json:"client_cpus,omitempty"`
	Verify     bool          `json:"verify"`
	Stall      time.Duration `json:"stall_ns"`
	Quota      float64       `json:"quota,omitempty"` // cores
	Busy       int           `json:"busy,omitempty"`
	JSON       string        `json:"-"`

	plan   work.Plan // of Work, for this machine
	cgroup string    // directory of the servers' cgroup, if there is a Quota
}

// echoText holds the flags that need parsing beyond what package flag does.
type echoText struct {
	conns, rates, servers, addr, work string
	serverCPUs, clientCPUs            string
	pin                               bool
	given                             map[string]bool // flags of the command line
}

func parseEcho(args []string, stdout io.Writer) (*echoConfig, error) {
	c := &echoConfig{Stall: load.DefaultStall}
	var text echoText
	fs := flag.NewFlagSet("echo", flag.ContinueOnError)
	fs.StringVar(&text.conns, "conns", "64", "connections; a `list` such as 1,64,1000 gives a "+
		"table each")
	fs.IntVar(&c.Size, "size", 64, "`bytes` per request")
	fs.IntVar(&c.Pipeline, "pipeline", 1, "`requests` in flight per connection")
	fs.StringVar(&text.rates, "rate", "", "open loop: `requests` per second over all "+
		"connections, each sent at its intended time\n"+
		"whatever was answered, latency from that time; a list such as 10k,30k gives a table each")
	fs.StringVar(&c.Arrival, "arrival", "", "intended times with -rate: uniform (equally spaced "+
		"on each connection, the default) or poisson")
	fs.DurationVar(&c.Duration, "duration", 4*time.Second, "measured `time` per round")
	fs.DurationVar(&c.Warmup, "warmup", time.Second, "`time` under load before each measurement")
	fs.IntVar(&c.Rounds, "rounds", 3, "rounds per server")
	fs.IntVar(&c.Procs, "procs", 0, "the servers' GOMAXPROCS; 0 is Go's default, all cores")
	fs.StringVar(&text.servers, "servers", "net,netco", "servers to compare, a `list`")
	fs.StringVar(&text.addr, "addr", "127.0.0.1", "loopback `address` to listen on")
	fs.IntVar(&c.Processors, "processors", 0, "netco's Processors; 0 is one for each CPU that "+
		"GOMAXPROCS allows")
	fs.IntVar(&c.MinActive, "min-active", 0, "netco's Processors that are given work however "+
		"little there is; 0 is its default, 1")
	fs.StringVar(&text.work, "work", "", "CPU `time` that the server computes for each request, "+
		"such as 40us; or a mix, such as\n5us,2ms:0.05, where 2 ms are for 5 % of the requests, "+
		"with the latencies of each kind apart")
	fs.StringVar(&c.Spin, "spin", "auto", "netco's spinning before sleep: auto or off")
	fs.IntVar(&c.Threads, "threads", 1, "generator threads")
	fs.StringVar(&text.serverCPUs, "server-cpus", "", "bind the server to these CPUs, a `list` "+
		"such as 0,2-3")
	fs.StringVar(&text.clientCPUs, "client-cpus", "", "bind the generator to these CPUs")
	fs.BoolVar(&text.pin, "pin", false, "one core for the server, another for the generator; "+
		"implies -procs 1")
	fs.Float64Var(&c.Quota, "quota", 0, "part of a core, such as 0.2, that a cpu cgroup leaves "+
		"the server; 0 is no cgroup")
	fs.IntVar(&c.Busy, "busy", 0, "`processes` that run busy loops beside all rounds")
	fs.BoolVar(&c.Verify, "verify", false, "compare every echoed byte (lengths are always checked)")
	fs.StringVar(&c.JSON, "json", "", "write every round and the environment to `file`")
	if err := parseFlags(fs, args, stdout); err != nil {
		return nil, err
	}
	text.given = map[string]bool{}
	fs.Visit(func(f *flag.Flag) { text.given[f.Name] = true })
	for _, step := range []func() error{
		func() error { return c.readLists(text) },
		func() error { return c.readRates(text) },
		func() error { return c.readCPUs(text) },
		func() error { return c.readWork(text.work) },
		c.validate,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *echoConfig) readLists(text echoText) error {
	for s := range strings.SplitSeq(text.conns, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 {
			return usagef("-conns %q: %q is no positive number", text.conns, s)
		}
		c.Conns = append(c.Conns, n)
	}
	for s := range strings.SplitSeq(text.servers, ",") {
		s = strings.TrimSpace(s)
		start, ok := echoServers[s]
		switch {
		case !ok:
			return usagef("-servers: unknown server %q (there are %s)", s,
				strings.Join(slices.Sorted(maps.Keys(echoServers)), ", "))
		case start == nil:
			return usagef("-servers: this build has no %s server", s)
		case slices.Contains(c.Servers, s):
			return usagef("-servers: %s twice", s)
		}
		c.Servers = append(c.Servers, s)
	}
	return c.readAddr(text.addr)
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
		n, ok := parseRate(strings.TrimSpace(s))
		if !ok {
			return usagef("-rate %q: %q is not a whole number of requests per second, 1 to 10M, "+
				"such as 500, 30k or 1.5M", text.rates, s)
		}
		c.Rates = append(c.Rates, n)
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
	if len(c.Work) == 1 {
		return nil
	}
	if period := len(load.Stream()) - 1; c.Size < work.MinSize || c.Size%period == 0 {
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

// parseRate reads a number with or without a unit, k or M.
func parseRate(s string) (int, bool) {
	unit := 1.0
	if number, ok := strings.CutSuffix(s, "k"); ok {
		s, unit = number, 1e3
	} else if number, ok := strings.CutSuffix(s, "M"); ok {
		s, unit = number, 1e6
	}
	n, err := strconv.ParseFloat(s, 64)
	n *= unit
	return int(n), err == nil && n >= 1 && n <= maxRate && n == math.Trunc(n)
}

func (c *echoConfig) readAddr(s string) error {
	if s == "localhost" {
		s = "127.0.0.1"
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return usagef("-addr %q is no IP address", s)
	}
	// The servers echo to whoever connects: never offer them to a network.
	if !addr.IsLoopback() {
		return usagef("-addr %s is not a loopback address; this benchmark is local only", s)
	}
	c.Addr = addr
	return nil
}

func (c *echoConfig) readCPUs(text echoText) (err error) {
	if c.ServerCPUs, err = cpulist.Parse(text.serverCPUs); err != nil {
		return usagef("-server-cpus: %v", err)
	}
	if c.ClientCPUs, err = cpulist.Parse(text.clientCPUs); err != nil {
		return usagef("-client-cpus: %v", err)
	}
	allowed, err := cpulist.Allowed()
	if err != nil {
		return err
	}
	for _, cpu := range slices.Concat(c.ServerCPUs, c.ClientCPUs) {
		if !slices.Contains(allowed, cpu) {
			return usagef("CPU %d is not among those this process may use %v", cpu, allowed)
		}
	}
	if text.pin {
		return c.pin(allowed)
	}
	return nil
}

// pin picks one core each where no flag did.
func (c *echoConfig) pin(allowed []int) error {
	if c.Procs > 1 {
		return usagef("-pin is for -procs 1; use -server-cpus and -client-cpus for more")
	}
	if len(allowed) < 2 {
		return usagef("-pin needs two CPUs, this process may use %v", allowed)
	}
	c.Procs = 1
	if c.ServerCPUs == nil {
		c.ServerCPUs = firstOther(allowed, c.ClientCPUs)
	}
	if c.ClientCPUs == nil {
		c.ClientCPUs = firstOther(allowed, c.ServerCPUs)
	}
	return nil
}

// firstOther returns the first of allowed that is not in taken, as a list.
func firstOther(allowed, taken []int) []int {
	for _, cpu := range allowed {
		if !slices.Contains(taken, cpu) {
			return []int{cpu}
		}
	}
	return allowed[:1]
}

func (c *echoConfig) validate() error {
	for _, check := range []struct {
		bad bool
		msg string
	}{
		{c.Size < 1 || c.Size > maxSize, fmt.Sprintf("-size must be 1 to %d", maxSize)},
		{c.Pipeline < 1 || c.Pipeline > maxInFlight, "-pipeline must be at least 1"},
		{c.Pipeline >= 1 && c.Size > maxInFlight/c.Pipeline,
			fmt.Sprintf("-size times -pipeline must not exceed %d bytes", maxInFlight)},
		{c.Duration < minDuration, fmt.Sprintf("-duration must be at least %v", minDuration)},
		{c.Warmup < 0, "-warmup must not be negative"},
		{c.Rounds < 1, "-rounds must be at least 1"},
		{c.Procs < 0, "-procs must not be negative"},
		{c.Threads < 1, "-threads must be at least 1"},
		{c.Processors < 0, "-processors must not be negative"},
		{c.MinActive < 0, "-min-active must not be negative"},
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
	rate  int // 0 for a closed loop
}

func (l echoLoad) String() string {
	if l.rate == 0 {
		return fmt.Sprintf("%d conns", l.conns)
	}
	return fmt.Sprintf("%d conns, %d/s", l.conns, l.rate)
}

// loads returns the sections' loads in order.
func (c *echoConfig) loads() []echoLoad {
	rates := c.Rates
	if len(rates) == 0 {
		rates = []int{0}
	}
	var loads []echoLoad
	for _, conns := range c.Conns {
		for _, rate := range rates {
			loads = append(loads, echoLoad{conns, rate})
		}
	}
	return loads
}
