package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/load"
)

// proxyTraffic is one kind of traffic: messages of one size that are echoed
// through the proxy, so many of them on their way on each connection.
type proxyTraffic struct {
	Size     int `json:"size"`
	Pipeline int `json:"pipeline"`
}

func (t proxyTraffic) String() string {
	if t.Pipeline == 1 {
		return fmt.Sprint(t.Size)
	}
	return fmt.Sprintf("%dx%d", t.Size, t.Pipeline)
}

// proxyFlags is the checked command line of proxy. What it shares with echo
// stands in echoConfig, and is checked there.
type proxyFlags struct {
	echoConfig
	Traffic []proxyTraffic `json:"traffic"`
}

func parseProxy(args []string, stdout io.Writer) (*proxyFlags, error) {
	c := &proxyFlags{echoConfig: echoConfig{Stall: load.DefaultStall, Size: 1, Pipeline: 1}}
	var text echoText
	var sizes, servers string
	fs := flag.NewFlagSet("proxy", flag.ContinueOnError)
	fs.StringVar(&text.conns, "conns", "16", "connections; a `list` such as 1,16,64 gives a "+
		"table each")
	fs.StringVar(&sizes, "size", "1024,65536,1048576x4", "bytes per message, and how many are on "+
		"their way on a connection; a `list`, a table each")
	fs.DurationVar(&c.Duration, "duration", 3*time.Second, "measured `time` per round")
	fs.DurationVar(&c.Warmup, "warmup", 500*time.Millisecond,
		"`time` under load before each measurement")
	fs.IntVar(&c.Rounds, "rounds", 5, "rounds per server")
	fs.IntVar(&c.Procs, "procs", 0, "the proxies' GOMAXPROCS; 0 is Go's default, all cores")
	fs.StringVar(&servers, "servers", "net-copy,net-splice,netco", "proxies to compare, a `list`")
	fs.StringVar(&text.addr, "addr", "127.0.0.1", "loopback `address` to listen on")
	fs.IntVar(&c.Processors, "processors", 0, "netco's Processors; 0 is one for each CPU that "+
		"GOMAXPROCS allows")
	fs.StringVar(&c.Spin, "spin", "auto", "netco's spinning before sleep: auto or off")
	fs.IntVar(&c.Threads, "threads", 1, "generator threads")
	fs.StringVar(&text.serverCPUs, "server-cpus", "", "bind the proxy to these CPUs, a `list` "+
		"such as 0,2-3")
	fs.StringVar(&text.clientCPUs, "client-cpus", "", "bind the generator and the target to "+
		"these CPUs")
	fs.BoolVar(&text.pin, "pin", false, "one core for the proxy, another for the rest; implies "+
		"-procs 1")
	fs.BoolVar(&c.Verify, "verify", false, "compare every byte (lengths are always checked)")
	fs.StringVar(&c.JSON, "json", "", "write every round and the environment to `file`")
	if err := parseFlags(fs, args, stdout); err != nil {
		return nil, err
	}
	text.servers = "net" // echo's check of its own list; ours is below
	for _, step := range []func() error{
		func() error { return c.readLists(text) },
		func() error { return c.readCPUs(text) },
		c.validate,
		func() error { return c.readProxies(servers) },
		func() error { return c.readSizes(sizes) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *proxyFlags) readProxies(list string) error {
	c.Servers = nil
	for s := range strings.SplitSeq(list, ",") {
		s = strings.TrimSpace(s)
		switch {
		case proxyServers[s] == nil:
			return usagef("-servers: unknown proxy %q (there are net-copy, net-splice and netco)",
				s)
		case slices.Contains(c.Servers, s):
			return usagef("-servers: %s twice", s)
		}
		c.Servers = append(c.Servers, s)
	}
	return nil
}

func (c *proxyFlags) readSizes(list string) error {
	for s := range strings.SplitSeq(list, ",") {
		t := proxyTraffic{Pipeline: 1}
		size, count, many := strings.Cut(strings.TrimSpace(s), "x")
		var err error
		t.Size, err = strconv.Atoi(size)
		if many && err == nil {
			t.Pipeline, err = strconv.Atoi(count)
		}
		if err != nil || t.Size < 1 || t.Size > maxSize || t.Pipeline < 1 ||
			t.Pipeline > maxInFlight/t.Size {
			return usagef("-size %q: %q is no size such as 65536 or 65536x4, of up to %d bytes "+
				"and %d on their way", list, s, maxSize, maxInFlight)
		}
		c.Traffic = append(c.Traffic, t)
	}
	return nil
}

// total estimates how long the whole run takes.
func (c *proxyFlags) total() time.Duration {
	return time.Duration(len(c.Traffic)) * c.echoConfig.total()
}
