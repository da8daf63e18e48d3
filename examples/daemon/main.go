// Command daemon is a service with all that it takes to run it: metrics,
// health, pages to look into it, logs, a watchdog, limits, an orderly end, a
// systemd unit. It is there to be copied. What it serves is small: see frame.go
// for the protocol.
//
//	service.go   connections and requests; frame.go, commands.go
//	admin.go     the pages: /metrics, /healthz, /readyz, /debug/netco/,
//	             /debug/pprof/, /debug/loglevel; health.go, meters.go
//	systemd.go   the messages to systemd; netco-daemon.service is the unit
//	faults.go    what goes wrong on demand, with -faults
//
// SIGTERM or SIGINT makes it drain: it becomes unready, takes no more
// connections, closes those that are idle, and gives the others -grace to end.
// A second one ends it at once. SIGHUP is ignored. It exits with
//
//	0        everything has ended by itself
//	1        it could not start
//	2        a flag is wrong
//	3        connections had to be ended by force when -grace was over
//	4        some could not be ended even so
//	130, 143 a second SIGINT, SIGTERM
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/logging"
	"github.com/netco-go/netco/metrics"
	"github.com/netco-go/netco/profile"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"
)

// exitUsage is what a wrong flag makes of it. The other codes are netco's.
const exitUsage = 2

func main() {
	c, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(netco.ExitOK)
	case err != nil:
		os.Exit(exitUsage)
	}
	level := zap.NewAtomicLevelAt(c.level)
	log, err := logging.New(level)
	if err != nil {
		os.Stderr.WriteString("daemon: " + err.Error() + "\n")
		os.Exit(netco.ExitFailed)
	}
	code, err := run(c, level, log)
	if err != nil {
		log.Error("cannot start", zap.Error(err))
		code = netco.ExitFailed
	}
	log.Info("ended", zap.Int("code", code))
	os.Exit(code)
}

// daemon is what the parts of its life share.
type daemon struct {
	*config
	log      *zap.Logger
	level    zap.AtomicLevel
	registry *prometheus.Registry
	service  *service
	health   *health
	notifier *notifier

	listener net.Listener // of admin; nil: there is none
	admin    *admin
	// Until everything has ended; the context of netco.Main ends when the drain
	// begins.
	alive context.Context
}

// run returns netco.Main's exit code, or why it did not come so far.
func run(c *config, level zap.AtomicLevel, log *zap.Logger) (code int, err error) {
	signal.Ignore(syscall.SIGHUP)
	alive, over := context.WithCancel(context.Background())
	defer over()
	d := &daemon{config: c, log: log, level: level, registry: prometheus.NewRegistry(),
		alive: alive}
	d.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if d.notifier, err = newNotifier(); err != nil {
		return 0, err
	}
	if err := c.fitFDs(log); err != nil {
		return 0, err
	}
	d.service = newService(c, log, d.registry)
	d.health = &health{s: d.service}
	if c.admin != "" {
		if d.listener, err = net.Listen("tcp", c.admin); err != nil {
			return 0, err
		}
		defer d.listener.Close()
	}
	if c.labels {
		defer profile.Labels()()
	}
	code = netco.Main(d.serve, netco.MainOptions{
		Options: netco.Options{
			Processors:    c.processors,
			LockThreads:   c.lockThreads,
			MaxCoroutines: c.maxCoroutines,
			BufferMemory:  c.bufferMemory,
			Watchdog:      c.watchdog,
			Logger:        log,
			OnPanic:       d.panicked,
		},
		Grace:    cmp.Or(c.grace, -1), // 0 is Main's default
		Draining: d.drain,
	})
	if d.admin != nil {
		d.admin.end()
	}
	return code, nil
}

// serve sets everything up, on a coroutine. When it has returned, the accepting
// coroutines keep the daemon going.
func (d *daemon) serve(context.Context) error {
	sched, err := netco.Default()
	if err != nil {
		return err
	}
	d.health.sched = sched
	if err := metrics.Register(d.registry, sched); err != nil {
		return err
	}
	if d.listener != nil {
		d.admin = newAdmin(d.listener, d.health, d.registry, d.level, d.adminNames(), d.log)
		go d.admin.serve()
	}
	listeners, err := d.listen()
	if err != nil {
		return err
	}
	for _, l := range listeners {
		d.log.Info("listening", zap.String("network", l.Addr().Network()),
			zap.Stringer("address", l.Addr()))
		if _, err := netco.GoWith(netco.Spawn{Name: "accept " + l.Addr().Network(), Fn: func() {
			d.service.accept(l)
		}}); err != nil {
			closeAll(listeners)
			return err
		}
	}
	if d.health.begin() {
		if err := d.notifier.send("READY=1", "STATUS=serving"); err != nil {
			d.log.Warn("cannot tell systemd", zap.Error(err))
		}
		d.log.Info("ready")
	}
	go d.notifier.feed(d.alive, d.health.alive)
	return nil
}

// drain is called when the end begins, before any client is refused.
func (d *daemon) drain(why error) {
	if d.health.is(starting) && why != nil && !errors.As(why, new(*netco.SignalError)) {
		return // it could not start: there is nothing to drain
	}
	d.health.enter(draining)
	d.service.ending.Store(true)
	d.notifier.send("STOPPING=1", "STATUS=draining")
	d.log.Info("draining", zap.NamedError("why", why),
		zap.Int64("connections", d.service.open.Load()), zap.Duration("grace", d.grace))
	time.Sleep(d.drainDelay)
}

// panicked keeps the daemon going: the request that has panicked is lost, and
// its connection is closed. netco has logged it.
func (d *daemon) panicked(netco.PanicInfo) { d.service.meters.panics.Inc() }
