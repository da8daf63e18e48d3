package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/cmd/netco-bench/internal/cpulist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/hist"
	"github.com/netco-go/netco/internal/clock"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// fair measures how long connections wait behind one that is always ready, on
// one Processor. Each ping carries the time at which it was sent, and the
// coroutine that reads it takes the difference, so that the client's own turn
// on a core is not in it.

// fairConfig is the checked command line of fair.
type fairConfig struct {
	Conns    int           `json:"conns"`
	Every    time.Duration `json:"every_ns"`
	Duration time.Duration `json:"duration_ns"`
	Rounds   int           `json:"rounds"`
	Pin      bool          `json:"pin"`
	Hose     string        `json:"firehose"`

	Pipeline []time.Duration `json:"pipeline_ns,omitempty"` // see fair_pipeline.go

	clientCPUs []int
}

// fairRound is one measurement.
type fairRound struct {
	Firehose bool    `json:"firehose"`
	Way      string  `json:"way"`
	Pings    uint64  `json:"pings"`
	MBps     float64 `json:"firehose_mb_per_s"`
	P50Us    float64 `json:"p50_us"`
	P99Us    float64 `json:"p99_us"`
	MaxUs    float64 `json:"max_us"`
}

func runFair(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var cfg fairConfig
	fs := flag.NewFlagSet("fair", flag.ContinueOnError)
	fs.IntVar(&cfg.Conns, "conns", 32, "connections beside the one that is always ready")
	fs.DurationVar(&cfg.Every, "every", 200*time.Microsecond,
		"time between two pings, each on the next connection")
	fs.DurationVar(&cfg.Duration, "duration", 3*time.Second, "measured time per round")
	fs.IntVar(&cfg.Rounds, "rounds", 3, "rounds")
	fs.StringVar(&cfg.Hose, "firehose", "tcp", "network of the one that is always ready: tcp or "+
		"unix, which puts no load on the kernel's network threads")
	fs.BoolVar(&cfg.Pin, "pin", false, "one core for the Processor, another for the clients, if "+
		"there are two")
	pipeline := fs.String("pipeline", "", "instead of the firehose one connection pipelines "+
		"small requests, which cost the server these `times` each, as in 1us,5us,20us")
	jsonFile := fs.String("json", "", "write every round to `file`")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	if cfg.Hose != "tcp" && cfg.Hose != "unix" {
		return usagef("-firehose %q: there are tcp and unix", cfg.Hose)
	}
	if cfg.Conns < 1 || cfg.Rounds < 1 || cfg.Every <= 0 || cfg.Duration < minDuration {
		return usagef("-conns, -every, -duration and -rounds must be positive")
	}
	if *pipeline != "" {
		costs, err := parseCosts(*pipeline)
		if err != nil {
			return err
		}
		cfg.Pipeline = costs
	}
	out, err := newReport(*jsonFile)
	if err != nil {
		return err
	}
	started := time.Now()
	options := netco.Options{Processors: 1}
	if cfg.Pin {
		cpus, err := cpulist.Allowed()
		if err != nil {
			return err
		}
		if len(cpus) < 2 {
			return usagef("-pin needs two CPUs, this process may use %v", cpus)
		}
		options.CPUs, cfg.clientCPUs = cpus[:1], cpus[1:]
	}
	// The clients are goroutines of this process that sit in system calls. None
	// is to wait for a P, least of all the Processor.
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	if err := netco.Start(options); err != nil {
		return err
	}
	defer netco.Shutdown(ctx)
	if cfg.Pipeline != nil {
		all, err := runPipeline(ctx, &cfg, stdout, stderr)
		if err != nil {
			return err
		}
		return out.write(newEnvironment(started), &cfg, nil, all)
	}
	var all []fairRound
	for round := range cfg.Rounds {
		for _, way := range []string{"coroutine each", "Server"} {
			for _, firehose := range []bool{false, true} {
				r, err := fairOnce(ctx, &cfg, way, firehose, nil)
				if err != nil {
					return err
				}
				fmt.Fprintf(stderr, "round %d/%d: %s, firehose %v: p99 %.0f µs, max %.0f µs\n",
					round+1, cfg.Rounds, way, firehose, r.P99Us, r.MaxUs)
				all = append(all, *r)
			}
		}
	}
	printFair(stdout, &cfg, all)
	return out.write(newEnvironment(started), &cfg, nil, all)
}

func printFair(w io.Writer, cfg *fairConfig, all []fairRound) {
	fmt.Fprintf(w, "from sending to reading a ping on %d connections of one Processor, median of "+
		"%d rounds\n\n", cfg.Conns, cfg.Rounds)
	fmt.Fprintf(w, "  %-16s%-10s%10s%10s%10s%16s\n", "served by", "firehose", "p50 µs", "p99 µs",
		"max µs", "firehose MB/s")
	for _, way := range []string{"coroutine each", "Server"} {
		for _, firehose := range []bool{false, true} {
			var p50, p99, highest, rate []float64
			for _, r := range all {
				if r.Way == way && r.Firehose == firehose {
					p50, p99, highest, rate = append(p50, r.P50Us), append(p99, r.P99Us),
						append(highest, r.MaxUs), append(rate, r.MBps)
				}
			}
			fmt.Fprintf(w, "  %-16s%-10v%10.0f%10.0f%10.0f%16.0f\n", way, firehose, median(p50),
				median(p99), median(highest), median(rate))
		}
	}
}

// fairServer is the serving side of one measurement. Its fields belong to the
// one Processor, until all has ended.
type fairServer struct {
	delays   hist.Histogram
	firehose uint64 // bytes
	pings    uint64
}

// fairOnce makes one measurement. after, if it is not nil, ends what was
// measured beside.
func fairOnce(ctx context.Context, cfg *fairConfig, way string, firehose bool,
	after func() error) (*fairRound, error) {
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &fairServer{}
	var server socket.Server
	server.Handle = f.handle
	serve := func(c net.Conn) {
		if _, err := netco.Go(func() {
			defer c.Close()
			for f.read(c) == nil {
			}
		}); err != nil {
			c.Close()
		}
	}
	if way == "Server" {
		serve = func(c net.Conn) { server.ServeConn(c.(socket.Stream)) }
	}
	accepting, err := netco.Go(func() {
		if way == "Server" {
			server.Serve(ln)
			return
		}
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serve(c)
		}
	})
	if err != nil {
		return nil, err
	}
	err = fairClients(ctx, cfg, ln.Addr().(*net.TCPAddr), firehose, serve)
	if after != nil {
		err = errors.Join(err, after())
	}
	ln.Close()
	accepting.Join()
	server.Shutdown(ctx)
	if s, derr := netco.Default(); derr == nil {
		for s.Live() > 0 { // the connections' coroutines see the end of their streams
			time.Sleep(time.Millisecond)
		}
	}
	us := func(q float64) float64 { return float64(f.delays.Quantile(q)) / 1000 }
	return &fairRound{Firehose: firehose, Way: way, Pings: f.pings, P50Us: us(0.5), P99Us: us(0.99),
		MaxUs: us(1),
		MBps:  float64(f.firehose) / 1e6 / cfg.Duration.Seconds()}, err
}

func (f *fairServer) handle(c *socket.ServerConn) error { return f.read(c) }

// A ping is the time at which it was sent; the firehose sends zeros.
const pingSize = 8

func (f *fairServer) read(c net.Conn) error {
	b := socket.AcquireBuffer()
	defer b.Release()
	n, err := c.Read(b.Bytes())
	f.take(b.Bytes()[:n], monotonic())
	return err
}

// take counts what was read. Pings that were kept waiting come together.
func (f *fairServer) take(data []byte, now int64) {
	for ; len(data) >= pingSize; data = data[pingSize:] {
		sent := int64(binary.NativeEndian.Uint64(data))
		if sent == 0 {
			break
		}
		f.delays.Record(max(0, now-sent))
		f.pings++
	}
	f.firehose += uint64(len(data))
}

// monotonic makes no system call, in which a coroutine might be left behind.
func monotonic() int64 { return clock.Now() }

// fairClients sends pings for the time of one round, beside a firehose if there
// is to be one.
func fairClients(ctx context.Context, cfg *fairConfig, to *net.TCPAddr, firehose bool,
	serve func(net.Conn)) error {
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for range cfg.Conns + 1 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: to.Port,
			Addr: [4]byte(to.IP.To4())}); err != nil {
			return err
		}
	}
	hose, pings := fds[0], fds[1:]
	if firehose && cfg.Hose == "unix" {
		var err error
		if hose, err = unixHose(serve); err != nil {
			return err
		}
		fds = append(fds, hose)
	}
	ended := make(chan error, 1)
	if firehose {
		go func() {
			release, err := cfg.lockThread()
			if err != nil {
				ended <- err
				return
			}
			defer release()
			block := make([]byte, 64<<10) // zeros
			for {
				if _, err := unix.Write(hose, block); err != nil {
					ended <- err
					return
				}
			}
		}()
	} else {
		ended <- nil
	}
	err := sendPings(ctx, cfg, pings)
	unix.Shutdown(hose, unix.SHUT_WR) // the firehose's next write fails
	if herr := <-ended; herr != nil && !errors.Is(herr, unix.EPIPE) {
		err = errors.Join(err, herr)
	}
	return err
}

// lockThread gives the caller a thread of its own, on the clients' CPUs if
// there are such.
func (cfg *fairConfig) lockThread() (release func(), err error) {
	if cfg.Pin {
		return cpulist.Bind(cfg.clientCPUs)
	}
	runtime.LockOSThread()
	return runtime.UnlockOSThread, nil
}

// unixHose has one end of a pair of Unix sockets served and returns the other.
func unixHose(serve func(net.Conn)) (fd int, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	theirs := os.NewFile(uintptr(ends[1]), "firehose")
	defer theirs.Close()
	c, err := conet.FileConn(theirs)
	if err != nil {
		unix.Close(ends[0])
		return -1, err
	}
	serve(c)
	return ends[0], nil
}

func sendPings(ctx context.Context, cfg *fairConfig, fds []int) error {
	release, err := cfg.lockThread()
	if err != nil {
		return err
	}
	defer release()
	var ping [pingSize]byte
	end := monotonic() + int64(cfg.Duration)
	pause := unix.NsecToTimespec(int64(cfg.Every))
	for i := 0; monotonic() < end && ctx.Err() == nil; i++ {
		binary.NativeEndian.PutUint64(ping[:], uint64(monotonic()))
		if _, err := unix.Write(fds[i%len(fds)], ping[:]); err != nil {
			return err
		}
		unix.Nanosleep(&pause, nil)
	}
	return ctx.Err()
}
