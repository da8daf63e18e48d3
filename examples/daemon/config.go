package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// config is what the flags say.
type config struct {
	addr, unix, admin string
	adminHosts        string

	processors    int
	lockThreads   bool
	maxConns      int
	maxCoroutines int
	bufferMemory  int
	maxFrame      int
	frameMemory   int

	idleTimeout, readTimeout, writeTimeout time.Duration

	grace      time.Duration
	drainDelay time.Duration
	watchdog   time.Duration
	deadAfter  time.Duration
	level      zapcore.Level
	labels     bool
	faults     bool
}

const (
	mib      = 1 << 20
	maxMaxes = 1 << 24
)

// parse reads the flags. Errors have been printed to out, flag.ErrHelp among
// them.
func parse(args []string, out io.Writer) (*config, error) {
	c := &config{}
	f := flag.NewFlagSet("daemon", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&c.addr, "addr", "127.0.0.1:7070", "TCP `address` to serve on; empty: none. "+
		"Sockets that systemd hands over go before")
	f.StringVar(&c.unix, "unix", "", "`path` of a unix socket to serve on as well")
	f.StringVar(&c.admin, "admin", "127.0.0.1:7071", "`address` for metrics, health and "+
		"debugging; empty: none. Its clients can profile the process")
	f.StringVar(&c.adminHosts, "admin-hosts", "", "`names`, with commas between, that the admin "+
		"address goes by beside localhost and numeric addresses; others are refused")
	f.IntVar(&c.processors, "processors", 0,
		"Processors, which run coroutines; 0: one for each CPU")
	f.BoolVar(&c.lockThreads, "lock-threads", false, "give each Processor a thread of its own: "+
		"what blocks outside netco then holds it up")
	f.IntVar(&c.maxConns, "max-conns", 10000, "connections open at a time; 0, and at most: what "+
		"the limit of open files leaves room for")
	f.IntVar(&c.maxCoroutines, "max-coroutines", 100000, "coroutines alive at a time; 0: no limit")
	f.IntVar(&c.bufferMemory, "buffer-memory", 64*mib, "`bytes` of buffers for each Processor; "+
		"0: no limit")
	f.IntVar(&c.maxFrame, "max-frame", mib, "`bytes` in a request's frame, at most")
	f.IntVar(&c.frameMemory, "frame-memory", 64*mib, "`bytes` of requests of more than 4 KiB that "+
		"are under way, all of them together; at least -max-frame")
	f.DurationVar(&c.idleTimeout, "idle-timeout", 5*time.Minute,
		"close connections that have been idle for so long; 0: never")
	f.DurationVar(&c.readTimeout, "read-timeout", 20*time.Second,
		"how long a request may take to come in")
	f.DurationVar(&c.writeTimeout, "write-timeout", 20*time.Second,
		"how long a peer may take to make room for an answer's frame")
	f.DurationVar(&c.grace, "grace", 20*time.Second, "how long connections get to end by "+
		"themselves after SIGTERM or SIGINT")
	f.DurationVar(&c.drainDelay, "drain-delay", 0, "how long to serve on, but not ready, before "+
		"draining: what load balancers need to notice")
	f.DurationVar(&c.watchdog, "watchdog", 100*time.Millisecond,
		"report a Processor that makes no turn for so long; negative: never")
	f.DurationVar(&c.deadAfter, "dead-after", 5*time.Second,
		"/healthz fails, and systemd hears nothing more, while a Processor has made no turn for "+
			"so long")
	f.TextVar(&c.level, "log-level", zapcore.InfoLevel, "`level` from which on lines are logged: "+
		"debug, info, warn, error")
	f.BoolVar(&c.labels, "profile-labels", false, "label CPU profiles with coroutines' names; "+
		"costs a little at each start")
	f.BoolVar(&c.faults, "faults", false, "allow clients to provoke stalls, panics and leaks. "+
		"For trying out what they look like, never in earnest")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	err := c.check()
	if f.NArg() > 0 {
		err = errors.Join(err, fmt.Errorf("there are no arguments but flags: %q", f.Args()))
	}
	if err != nil {
		fmt.Fprintln(out, "daemon:", err)
		return nil, err
	}
	return c, nil
}

// adminNames are the names of -admin-hosts, and that of -admin.
func (c *config) adminNames() []string {
	names := strings.FieldsFunc(c.adminHosts, func(r rune) bool { return r == ',' || r == ' ' })
	if host, _, err := net.SplitHostPort(c.admin); err == nil && host != "" {
		names = append(names, host)
	}
	return names
}

// check names all that is wrong, not just the first.
func (c *config) check() error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	for name, addr := range map[string]string{"-addr": c.addr, "-admin": c.admin} {
		if addr == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			bad("%s: %w", name, err)
		}
	}
	for _, f := range []struct {
		name string
		ok   bool
		want string
	}{
		{"-processors", c.processors >= 0 && c.processors <= 1024, "0 to 1024"},
		{"-max-conns", c.maxConns >= 0 && c.maxConns <= maxMaxes, "0 to 16777216"},
		{"-max-coroutines", c.maxCoroutines >= 0 && c.maxCoroutines <= maxMaxes, "0 to 16777216"},
		{"-buffer-memory", c.bufferMemory >= 0, "0 or more"},
		{"-max-frame", c.maxFrame >= headSize && c.maxFrame <= 1<<30, "5 to 1073741824"},
		{"-frame-memory", c.frameMemory >= 0, "0 or more"},
		{"-idle-timeout", c.idleTimeout >= 0, "0 or more"},
		{"-read-timeout", c.readTimeout > 0, "more than 0"},
		{"-write-timeout", c.writeTimeout > 0, "more than 0"},
		{"-grace", c.grace >= 0, "0 or more"},
		{"-drain-delay", c.drainDelay >= 0, "0 or more"},
		{"-dead-after", c.deadAfter >= time.Millisecond, "a millisecond or more"},
	} {
		if !f.ok {
			bad("%s: want %s", f.name, f.want)
		}
	}
	if c.maxCoroutines > 0 && (c.maxConns == 0 || c.maxConns > c.maxCoroutines) {
		bad("-max-conns: %d connections, of which each may need a coroutine, do not fit into "+
			"-max-coroutines %d", c.maxConns, c.maxCoroutines)
	}
	return errors.Join(wrong...)
}

// reservedFDs are for everything but connections: epoll, listeners, logs, and
// above all the admin address, which could not be reached any more when
// connections have taken the last fd.
const reservedFDs = 128

// fitFDs lowers -max-conns, or sets it if it is 0, to what the limit of open
// files leaves room for. The Go runtime has raised the soft limit to the hard
// one by now.
func (c *config) fitFDs(log *zap.Logger) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	room := int(min(l.Cur, math.MaxInt32)) - reservedFDs
	switch {
	case room < 1:
		return fmt.Errorf("RLIMIT_NOFILE is %d, of which all but connections need %d", l.Cur,
			reservedFDs)
	case c.maxConns == 0:
		c.maxConns = room
	case c.maxConns > room:
		log.Warn("-max-conns is more than there are fds for, and is lowered",
			zap.Int("conns", c.maxConns), zap.Int("lowered", room), zap.Uint64("fds", l.Cur))
		c.maxConns = room
	}
	return nil
}
