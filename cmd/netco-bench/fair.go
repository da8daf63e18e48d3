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
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/cmd/netco-bench/internal/cpulist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/stats"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// fair measures how long connections wait behind one that is always ready, on
// one Processor. Each ping carries the time at which it was sent, and the
// coroutine that reads it takes the difference, so that the client's own turn
// on a core is not in it.

// fairConfig is the checked command line of fair.
type fairConfig struct {
	conns, rounds   int
	every, duration time.Duration
	pin             bool
	hose            string
	pipeline        []time.Duration // what a request costs
	clientCPUs      []int
}

// fairRound is one measurement.
type fairRound struct {
	way           string
	beside        string // false, true for a firehose, or what a request costs
	perSecond     float64
	p50, p99, max float64 // µs
}

// A fairCase is one kind of measurement, of which there are several rounds.
type fairCase struct {
	way, beside string
	once        func() (*fairRound, error)
}

func runFair(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var cfg fairConfig
	fs := flag.NewFlagSet("fair", flag.ContinueOnError)
	fs.IntVar(&cfg.conns, "conns", 32, "connections beside the one that is always ready")
	fs.DurationVar(&cfg.every, "every", 200*time.Microsecond,
		"time between two pings, each on the next connection")
	fs.DurationVar(&cfg.duration, "duration", 3*time.Second, "measured time per round")
	fs.IntVar(&cfg.rounds, "rounds", 3, "rounds")
	fs.StringVar(&cfg.hose, "firehose", "tcp", "network of the one that is always ready: tcp or "+
		"unix, which puts no load on the kernel's network threads")
	fs.BoolVar(&cfg.pin, "pin", false, "one core for the Processor, another for the clients, if "+
		"there are two")
	pipeline := fs.String("pipeline", "", "instead of the firehose one connection pipelines "+
		"small requests, which cost the server these `times` each, as in 1us,5us,20us")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	if cfg.hose != "tcp" && cfg.hose != "unix" {
		return usagef("-firehose %q: there are tcp and unix", cfg.hose)
	}
	if cfg.conns < 1 || cfg.rounds < 1 || cfg.every <= 0 || cfg.duration < minDuration {
		return usagef("-conns, -every, -duration and -rounds must be positive")
	}
	if *pipeline != "" {
		for text := range strings.SplitSeq(*pipeline, ",") {
			cost, err := time.ParseDuration(text)
			if err != nil || cost < 0 {
				return usagef("-pipeline %q: want times that are not negative, with commas in "+
					"between", *pipeline)
			}
			cfg.pipeline = append(cfg.pipeline, cost)
		}
	}
	options := netco.Options{Processors: 1}
	if cfg.pin {
		cpus, err := cpulist.Two()
		if err != nil {
			return usagef("-pin: %v", err)
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
	var all []fairRound
	cases := cfg.cases(ctx)
	for round := range cfg.rounds {
		for _, c := range cases {
			r, err := c.once()
			if err != nil {
				return err
			}
			r.way, r.beside = c.way, c.beside
			fmt.Fprintf(stderr, "round %d/%d: %s, %s: p50 %.0f, p99 %.0f, max %.0f µs\n", round+1,
				cfg.rounds, c.way, c.beside, r.p50, r.p99, r.max)
			all = append(all, *r)
		}
	}
	cfg.print(stdout, cases, all)
	return nil
}

func (fc *fairConfig) cases(ctx context.Context) (cases []fairCase) {
	add := func(way, beside string, once func() (*fairRound, error)) {
		cases = append(cases, fairCase{way, beside, once})
	}
	if fc.pipeline == nil {
		for _, way := range []string{"coroutine each", "Server"} {
			add(way, "false", func() (*fairRound, error) {
				return fc.once(ctx, way, func(*fairServer) (func() error, error) {
					return func() error { return nil }, nil
				})
			})
			add(way, "true", func() (*fairRound, error) { return fc.once(ctx, way, fc.firehose) })
		}
	}
	for _, way := range pipelineWays {
		for _, cost := range fc.pipeline {
			add(way, cost.String(), func() (*fairRound, error) {
				p := pipeliner{cfg: fc, way: way, cost: cost}
				return fc.once(ctx, "coroutine each", func(f *fairServer) (func() error, error) {
					return p.start(ctx, f)
				})
			})
		}
	}
	return cases
}

// print prints the medians of each case.
func (fc *fairConfig) print(w io.Writer, cases []fairCase, all []fairRound) {
	fmt.Fprintf(w, "from sending to reading a ping on %d connections of one Processor, ", fc.conns)
	beside, rate := "firehose", "firehose MB/s"
	if fc.pipeline != nil {
		fmt.Fprintf(w, "beside one that pipelines %d-byte requests, ", len(request))
		beside, rate = "a request", "requests/s"
	}
	fmt.Fprintf(w, "median of %d rounds\n\n", fc.rounds)
	fmt.Fprintf(w, "  %-16s%-10s%10s%10s%10s%16s\n", "served by", beside, "p50 µs", "p99 µs",
		"max µs", rate)
	for _, c := range cases {
		of := func(value func(*fairRound) float64) float64 {
			var v []float64
			for i := range all {
				if r := &all[i]; r.way == c.way && r.beside == c.beside {
					v = append(v, value(r))
				}
			}
			return stats.Median(v)
		}
		fmt.Fprintf(w, "  %-16s%-10s%10.0f%10.0f%10.0f%16.0f\n", c.way, c.beside,
			of(func(r *fairRound) float64 { return r.p50 }),
			of(func(r *fairRound) float64 { return r.p99 }),
			of(func(r *fairRound) float64 { return r.max }),
			of(func(r *fairRound) float64 { return r.perSecond }))
	}
}

// fairServer is the serving side of one measurement. Its fields belong to the
// one Processor, until all has ended.
type fairServer struct {
	addr   *net.TCPAddr
	serve  func(net.Conn)
	delays result.Histogram
	pings  uint64
	hose   uint64 // bytes of the firehose
	beside func() float64
}

// once makes one measurement, beside what start starts and stop ends.
func (fc *fairConfig) once(ctx context.Context, way string,
	start func(*fairServer) (stop func() error, err error)) (*fairRound, error) {
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	f := &fairServer{addr: ln.Addr().(*net.TCPAddr)}
	f.beside = func() float64 { return float64(f.hose) / 1e6 }
	server := socket.Server{Handle: func(c *socket.ServerConn) error { return f.read(c) }}
	f.serve = func(c net.Conn) {
		if _, err := netco.Go(func() {
			defer c.Close()
			for f.read(c) == nil {
			}
		}); err != nil {
			c.Close()
		}
	}
	if way == "Server" {
		f.serve = func(c net.Conn) { server.ServeConn(c.(socket.Stream), nil) }
	}
	accepting, err := netco.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			f.serve(c)
		}
	})
	if err != nil {
		return nil, err
	}
	stop, err := start(f)
	if err == nil {
		err = errors.Join(fc.sendPings(ctx, f.addr), stop())
	}
	ln.Close()
	accepting.Join()
	server.Shutdown(ctx)
	if s, derr := netco.Default(); derr == nil {
		for s.Live() > 0 { // the connections' coroutines see the end of their streams
			time.Sleep(time.Millisecond)
		}
	}
	us := func(p float64) float64 { return float64(f.delays.At(p)) / 1000 }
	return &fairRound{perSecond: f.beside() / fc.duration.Seconds(), p50: us(50), p99: us(99),
		max: us(100)}, err
}

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
		f.delays.Record(now - sent)
		f.pings++
	}
	f.hose += uint64(len(data))
}

// lockThread gives the caller a thread of its own, on the clients' CPUs if
// there are such.
func (fc *fairConfig) lockThread() (release func(), err error) {
	return cpulist.Bind(fc.clientCPUs)
}

// onThread runs f on a thread of its own, and sends what it returns.
func (fc *fairConfig) onThread(ended chan<- error, f func() error) {
	go func() {
		release, err := fc.lockThread()
		if err == nil {
			err = f()
			release()
		}
		ended <- err
	}()
}

// connect returns a blocking socket.
func connect(to *net.TCPAddr) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: to.Port,
		Addr: [4]byte(to.IP.To4())}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// firehose writes zeros as fast as they are taken.
func (fc *fairConfig) firehose(f *fairServer) (stop func() error, err error) {
	fd := -1
	if fc.hose == "unix" {
		fd, err = unixHose(f.serve)
	} else {
		fd, err = connect(f.addr)
	}
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	fc.onThread(ended, func() error {
		for block := make([]byte, 64<<10); ; {
			if _, err := unix.Write(fd, block); err != nil {
				return err
			}
		}
	})
	return func() error {
		unix.Shutdown(fd, unix.SHUT_WR) // the next write fails
		err := <-ended
		if errors.Is(err, unix.EPIPE) {
			err = nil
		}
		return errors.Join(err, unix.Close(fd))
	}, nil
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

// sendPings opens the connections and sends pings for the time of one round.
func (fc *fairConfig) sendPings(ctx context.Context, to *net.TCPAddr) error {
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for range fc.conns {
		fd, err := connect(to)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
	}
	release, err := fc.lockThread()
	if err != nil {
		return err
	}
	defer release()
	var ping [pingSize]byte
	end := monotonic() + int64(fc.duration)
	pause := unix.NsecToTimespec(int64(fc.every))
	for i := 0; monotonic() < end && ctx.Err() == nil; i++ {
		binary.NativeEndian.PutUint64(ping[:], uint64(monotonic()))
		if _, err := unix.Write(fds[i%len(fds)], ping[:]); err != nil {
			return err
		}
		unix.Nanosleep(&pause, nil)
	}
	return ctx.Err()
}
