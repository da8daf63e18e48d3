package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/netco-go/netco/cmd/netco-bench/internal/compare"
	"github.com/netco-go/netco/cmd/netco-bench/internal/cpulist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
)

const echoUsage = `[flags] [flags of load]

Compares servers of this program, each started anew for each of its rounds, under
the same load: a table for each of -conns, -size and -rate. The rounds alternate as
those of compare do, and its report and merge read what -json writes.

All flags of load are those of each round, but for those that are listed here.`

// echoConfig is the command line of echo or proxy.
type echoConfig struct {
	known                     map[string]server
	conns, sizes, rates       string
	serverList, spin, work    string
	json, cgroup              string
	rounds, procs, processors int
	pin, quiet                bool
	servers                   []string
	load                      []string // flags of load
	serverCPUs, loadCPUs      []int
	mix                       work.Mix // of -work
	plan                      work.Plan
	target                    string // of proxies
}

// workless are the servers that compute nothing.
var workless = []string{"c", "netco-idle"}

func runEcho(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := &echoConfig{known: echoServers, conns: "64", sizes: "64", serverList: "net,netco",
		rounds: 3, load: []string{"-d", "4s", "-warmup", "1s"}}
	return c.run(ctx, "echo", args, stdout, stderr)
}

// runProxy has messages echoed by a server behind each proxy, so each message
// is forwarded twice.
func runProxy(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := &echoConfig{known: proxyServers, conns: "16", sizes: "1024,65536,1048576x4", rounds: 5,
		serverList: "net-splice,net-copy,netco", load: []string{"-d", "3s", "-warmup", "500ms"}}
	return c.run(ctx, "proxy", args, stdout, stderr)
}

// parse reads a command line; what c holds are the defaults.
func (c *echoConfig) parse(name string, args []string, stdout io.Writer) error {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.StringVar(&c.conns, "conns", c.conns, "connections; a `list`, as in 1,64,1000")
	fs.StringVar(&c.sizes, "size", c.sizes, "bytes of a request; a `list`, as in 64,1048576x4: "+
		"behind x, how many are in flight on a connection")
	fs.StringVar(&c.rates, "rate", "", "open loop: requests per second; a `list`, as in 10k,30k")
	fs.StringVar(&c.serverList, "servers", c.serverList, "what to compare, a `list`: the first is "+
		"the baseline of "+strings.Join(slices.Sorted(maps.Keys(c.known)), ", "))
	fs.IntVar(&c.rounds, "rounds", c.rounds, "rounds of each")
	fs.IntVar(&c.procs, "procs", 0, "the servers' GOMAXPROCS; 0 is Go's default, all cores")
	fs.IntVar(&c.processors, "processors", 0, "netco's Processors; 0 is one for each CPU that "+
		"GOMAXPROCS allows")
	fs.StringVar(&c.spin, "spin", "auto", "netco's spinning before sleep: auto or off")
	fs.BoolVar(&c.pin, "pin", false, "one core for the server, another for the rest")
	fs.StringVar(&c.work, "work", "", "CPU `time` that the server computes for each request, "+
		"such as 40us; or a mix, such as 5us,2ms:0.05,\nwhere 2 ms are for 5 % of the requests; "+
		"latencies are told by class, too; the server sleeps\nfor a time behind sleep=, "+
		"as in sleep=1ms")
	fs.StringVar(&c.cgroup, "cgroup", "", "`folder` of a cgroup that the servers run in")
	fs.StringVar(&c.json, "json", "", "write all rounds to `file`")
	fs.BoolVar(&c.quiet, "q", false, "no line for each round")
	load, targets, err := parseWithLoad(fs, echoUsage, args, stdout)
	if err != nil {
		return err
	}
	c.load = append(c.load, load...)
	if c.work != "" {
		if c.mix, err = work.Parse(c.work); err != nil {
			return usagef("-work: %v", err)
		}
		c.load = append(c.load, "-work", c.work)
	}
	switch {
	case len(targets) > 0:
		return usagef("unexpected argument %q: its servers are its own", targets[0])
	case c.rounds < 1 || c.procs < 0 || c.processors < 0:
		return usagef("-rounds must be at least 1, -procs and -processors not negative")
	case c.spin != "auto" && c.spin != "off":
		return usagef("-spin must be auto or off")
	}
	return errors.Join(refuseFlags(load, name+" sets it itself, or has no use for it", "c", "pid",
		"csv", "targets", "idle"), c.readServers(), c.bind())
}

func (c *echoConfig) readServers() error {
	for s := range strings.SplitSeq(c.serverList, ",") {
		switch {
		case c.known[s] == nil:
			return usagef("-servers: unknown server %q", s)
		case slices.Contains(c.servers, s):
			return usagef("-servers: %s twice", s)
		case c.work != "" && slices.Contains(workless, s):
			return usagef("-work: the server %s computes nothing", s)
		}
		c.servers = append(c.servers, s)
	}
	return nil
}

// bind picks a core for the server and one for the generator, for -pin.
func (c *echoConfig) bind() error {
	if !c.pin {
		return nil
	}
	cpus, err := cpulist.Two()
	if err != nil {
		return usagef("-pin: %v", err)
	}
	c.serverCPUs, c.loadCPUs = cpus[:1], cpus[1:]
	return nil
}

// A section is the load of one table.
type section struct {
	args  []string // of load
	bytes int      // of a request
}

// sections returns the loads, checked.
func (c *echoConfig) sections() (all []section, err error) {
	for conns := range strings.SplitSeq(c.conns, ",") {
		for size := range strings.SplitSeq(c.sizes, ",") {
			for rate := range strings.SplitSeq(c.rates, ",") {
				bytes, inFlight, many := strings.Cut(size, "x")
				args := slices.Concat(c.load, []string{"-c", conns, "-size", bytes})
				if many {
					args = append(args, "-pipeline", inFlight)
				}
				if c.rates != "" {
					args = append(args, "-rate", rate)
				}
				cfg, err := parseLoad(append(args, "tcp://127.0.0.1:1"), io.Discard)
				if err != nil {
					return nil, err
				}
				if err := checkNoFile(cfg.Connections); err != nil {
					return nil, err
				}
				all = append(all, section{args, cfg.Mix.Largest()})
			}
		}
	}
	return all, nil
}

func (c *echoConfig) run(ctx context.Context, name string, args []string, stdout,
	stderr io.Writer) error {
	if err := c.parse(name, args, stdout); err != nil {
		return err
	}
	sections, err := c.sections()
	if err == nil {
		err = canWrite(c.json)
	}
	if err != nil {
		return err
	}
	c.plan = work.ForThisMachine(c.mix)
	if name == "proxy" {
		most := section{bytes: 64 << 10}
		for _, s := range sections {
			most.bytes = max(most.bytes, s.bytes)
		}
		target, url, err := c.start(ctx, "net", most.bytes, c.loadCPUs)
		if err != nil {
			return fmt.Errorf("the target: %w", err)
		}
		defer target.stop()
		c.target = strings.TrimPrefix(url, "tcp://")
	}
	if c.quiet {
		stderr = io.Discard
	}
	file := compare.NewFile(name)
	for i, s := range sections {
		comparison, failure := loadInRounds(ctx, loadOn(c.loadCPUs), c.sides(s), c.rounds, s.args,
			stderr)
		if comparison.Complete() {
			comparison.Title = c.title(comparison, s)
			fmt.Fprintf(stdout, "%s%s\n", strings.Repeat("\n", min(i, 1)), comparison.Title)
			comparison.Print(stdout)
			file.Comparisons = append(file.Comparisons, comparison)
		}
		if err = failure; err != nil {
			break
		}
	}
	// What was measured before a failure is worth keeping.
	return errors.Join(err, writeJSON(c.json, stdout, file))
}

func (c *echoConfig) sides(s section) (sides []sideToLoad) {
	for _, name := range c.servers {
		sides = append(sides, sideToLoad{name: name,
			start: func(ctx context.Context) (*serverCommand, string, error) {
				return c.start(ctx, name, s.bytes, c.serverCPUs)
			}})
	}
	return sides
}

func (c *echoConfig) start(ctx context.Context, name string, bytes int, cpus []int) (*serverCommand,
	string, error) {
	args := []string{"serve", name, "-size", strconv.Itoa(bytes), "-spin", c.spin, "-processors",
		strconv.Itoa(c.processors), "-work", c.plan.String(), "-target", c.target}
	return startOwn(ctx, c.cgroup, c.procs, cpus, args)
}

// title says what was compared under which load.
func (c *echoConfig) title(measured *compare.Comparison, s section) string {
	parts := []string{loopText(&measured.Sides[0].Rounds[0].Options), fmt.Sprint(s.bytes, " B")}
	for _, p := range []struct {
		given bool
		text  string
	}{
		{c.pin, fmt.Sprintf("server on CPU %v, generator on %v", c.serverCPUs, c.loadCPUs)},
		{c.procs > 0, fmt.Sprint("GOMAXPROCS ", c.procs)},
		{c.processors > 0, fmt.Sprint("Processors ", c.processors)},
		{c.spin == "off", "no spinning"},
		{c.work != "", c.work + " of work"},
		{c.cgroup != "", "in " + c.cgroup},
	} {
		if p.given {
			parts = append(parts, p.text)
		}
	}
	return strings.Join(parts, ", ")
}
