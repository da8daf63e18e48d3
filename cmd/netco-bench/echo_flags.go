package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/cpulist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/load"
)

const (
	maxSize     = 16 << 20
	maxInFlight = 64 << 20 // bytes per connection
	minDuration = 10 * time.Millisecond
)

// echoConfig is the checked command line of echo.
type echoConfig struct {
	Conns      []int         `json:"conns"`
	Size       int           `json:"size"`
	Pipeline   int           `json:"pipeline"`
	Duration   time.Duration `json:"duration_ns"`
	Warmup     time.Duration `json:"warmup_ns"`
	Rounds     int           `json:"rounds"`
	Procs      int           `json:"procs"`
	Servers    []string      `json:"servers"`
	Addr       netip.Addr    `json:"addr"`
	Spin       string        `json:"spin"`
	Processors int           `json:"processors"`
	Threads    int           `json:"threads"`
	ServerCPUs []int         `json:"server_cpus,omitempty"`
	ClientCPUs []int         `json:"client_cpus,omitempty"`
	Verify     bool          `json:"verify"`
	Stall      time.Duration `json:"stall_ns"`
	JSON       string        `json:"-"`
}

// echoText holds the flags that need parsing beyond what package flag does.
type echoText struct {
	conns, servers, addr, serverCPUs, clientCPUs string
	pin                                          bool
}

func parseEcho(args []string, stdout io.Writer) (*echoConfig, error) {
	c := &echoConfig{Stall: load.DefaultStall}
	var text echoText
	fs := flag.NewFlagSet("echo", flag.ContinueOnError)
	fs.StringVar(&text.conns, "conns", "64", "connections; a `list` such as 1,64,1000 gives a table each")
	fs.IntVar(&c.Size, "size", 64, "`bytes` per request")
	fs.IntVar(&c.Pipeline, "pipeline", 1, "`requests` in flight per connection")
	fs.DurationVar(&c.Duration, "duration", 4*time.Second, "measured `time` per round")
	fs.DurationVar(&c.Warmup, "warmup", time.Second, "`time` under load before each measurement")
	fs.IntVar(&c.Rounds, "rounds", 3, "rounds per server")
	fs.IntVar(&c.Procs, "procs", 0, "the servers' GOMAXPROCS; 0 is Go's default, all cores")
	fs.StringVar(&text.servers, "servers", "net,netco", "servers to compare, a `list`")
	fs.StringVar(&text.addr, "addr", "127.0.0.1", "loopback `address` to listen on")
	fs.IntVar(&c.Processors, "processors", 0, "netco's Processors; 0 is one for each CPU that GOMAXPROCS allows")
	fs.StringVar(&c.Spin, "spin", "auto", "netco's spinning before sleep: auto or off")
	fs.IntVar(&c.Threads, "threads", 1, "generator threads")
	fs.StringVar(&text.serverCPUs, "server-cpus", "", "bind the server to these CPUs, a `list` such as 0,2-3")
	fs.StringVar(&text.clientCPUs, "client-cpus", "", "bind the generator to these CPUs")
	fs.BoolVar(&text.pin, "pin", false, "one core for the server, another for the generator; implies -procs 1")
	fs.BoolVar(&c.Verify, "verify", false, "compare every echoed byte (lengths are always checked)")
	fs.StringVar(&c.JSON, "json", "", "write every round and the environment to `file`")
	if err := parseFlags(fs, args, stdout); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return c.readLists(text) },
		func() error { return c.readCPUs(text) },
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
			return usagef("-servers: unknown server %q (there are %s)", s, strings.Join(slices.Sorted(maps.Keys(echoServers)), ", "))
		case start == nil:
			return usagef("-servers: this build has no %s server", s)
		case slices.Contains(c.Servers, s):
			return usagef("-servers: %s twice", s)
		}
		c.Servers = append(c.Servers, s)
	}
	return c.readAddr(text.addr)
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
		{c.Pipeline >= 1 && c.Size > maxInFlight/c.Pipeline, fmt.Sprintf("-size times -pipeline must not exceed %d bytes", maxInFlight)},
		{c.Duration < minDuration, fmt.Sprintf("-duration must be at least %v", minDuration)},
		{c.Warmup < 0, "-warmup must not be negative"},
		{c.Rounds < 1, "-rounds must be at least 1"},
		{c.Procs < 0, "-procs must not be negative"},
		{c.Threads < 1, "-threads must be at least 1"},
		{c.Processors < 0, "-processors must not be negative"},
		{!slices.Contains([]string{"auto", "off"}, c.Spin), "-spin must be auto or off"},
	} {
		if check.bad {
			return usagef("%s", check.msg)
		}
	}
	return checkNoFile(slices.Max(c.Conns))
}

// total estimates how long the whole run takes.
func (c *echoConfig) total() time.Duration {
	rounds := len(c.Conns) * c.Rounds * len(c.Servers)
	return time.Duration(rounds) * (c.Warmup + c.Duration)
}
