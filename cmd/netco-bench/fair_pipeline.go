package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// With -pipeline one connection sends small requests without waiting for their
// answers, and each costs the server some time: that is measured beside the
// pings in place of the firehose.

// request is what the pipelining client sends; the line's end belongs to it.
const request = "get key:00000017\n"

const answer = "+OK\r\n"

// pipelineWays are the ways to serve the connection that pipelines.
var pipelineWays = []string{"Buffered", "Server", "bufio"}

// parseCosts reads the value of -pipeline.
func parseCosts(list string) (all []time.Duration, err error) {
	for _, text := range strings.Split(list, ",") {
		cost, err := time.ParseDuration(text)
		if err != nil || cost < 0 {
			return nil, usagef("-pipeline %q: want times that are not negative, with commas in "+
				"between", list)
		}
		all = append(all, cost)
	}
	return all, nil
}

// pipelineRound is one measurement.
type pipelineRound struct {
	Way      string  `json:"way"`
	CostUs   float64 `json:"cost_us"`
	Requests float64 `json:"requests_per_s"`
	Pings    uint64  `json:"pings"`
	P50Us    float64 `json:"p50_us"`
	P99Us    float64 `json:"p99_us"`
	MaxUs    float64 `json:"max_us"`
}

func runPipeline(ctx context.Context, cfg *fairConfig, stdout,
	stderr io.Writer) (all []pipelineRound, err error) {
	for round := range cfg.Rounds {
		for _, way := range pipelineWays {
			for _, cost := range cfg.Pipeline {
				r, err := pipelineOnce(ctx, cfg, way, cost)
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(stderr, "round %d/%d: %s, %v: p50 %.0f µs, max %.0f µs\n", round+1,
					cfg.Rounds, way, cost, r.P50Us, r.MaxUs)
				all = append(all, *r)
			}
		}
	}
	fmt.Fprintf(stdout, "from sending to reading a ping on %d connections of one Processor, "+
		"beside one that pipelines %d-byte requests, median of %d rounds\n\n",
		cfg.Conns, len(request), cfg.Rounds)
	fmt.Fprintf(stdout, "  %-12s%12s%10s%10s%10s%14s\n", "served by", "a request", "p50 µs",
		"p99 µs", "max µs", "requests/s")
	for _, way := range pipelineWays {
		for _, cost := range cfg.Pipeline {
			var p50, p99, highest, rate []float64
			for _, r := range all {
				if r.Way == way && r.CostUs == us(cost) {
					p50, p99, highest, rate = append(p50, r.P50Us), append(p99, r.P99Us),
						append(highest, r.MaxUs), append(rate, r.Requests)
				}
			}
			fmt.Fprintf(stdout, "  %-12s%12v%10.0f%10.0f%10.0f%14.0f\n", way, cost, median(p50),
				median(p99), median(highest), median(rate))
		}
	}
	return all, nil
}

func us(d time.Duration) float64 { return float64(d) / 1000 }

func pipelineOnce(ctx context.Context, cfg *fairConfig, way string,
	cost time.Duration) (*pipelineRound, error) {
	var served uint64
	// Each answers what it is asked until the connection ends.
	serve := func(c socket.Stream) error {
		b := socket.NewBuffered(c)
		return answerAll(b, b.ReadLine, cost, &served)
	}
	server := socket.Server{
		Opened: func(c *socket.ServerConn) error {
			c.Value = socket.NewBuffered(c.Stream)
			return nil
		},
		Handle: func(c *socket.ServerConn) error {
			b := c.Value.(*socket.Buffered)
			for {
				if err := answerOne(b, b.ReadLine, cost, &served); err != nil {
					return err
				}
				if b.Buffered() == 0 {
					return b.Flush()
				}
			}
		},
	}
	start := func(c net.Conn) error {
		switch way {
		case "Server":
			return server.ServeConn(c.(socket.Stream))
		case "bufio":
			_, err := netco.Go(func() {
				defer c.Close()
				r, w := bufio.NewReader(c), bufio.NewWriter(c)
				line := func() ([]byte, error) {
					if r.Buffered() == 0 {
						if err := w.Flush(); err != nil {
							return nil, err
						}
					}
					return r.ReadSlice('\n')
				}
				answerAll(w, line, cost, &served)
			})
			return err
		}
		_, err := netco.Go(func() {
			defer c.Close()
			serve(c.(socket.Stream))
		})
		return err
	}
	stop, err := startPipelining(cfg, start)
	if err != nil {
		return nil, err
	}
	plain, err := fairOnce(ctx, cfg, "coroutine each", false, func() error {
		return errors.Join(stop(), server.Shutdown(ctx))
	})
	if err != nil {
		return nil, err
	}
	return &pipelineRound{Way: way, CostUs: us(cost),
		Requests: float64(served) / cfg.Duration.Seconds(), Pings: plain.Pings,
		P50Us: plain.P50Us, P99Us: plain.P99Us, MaxUs: plain.MaxUs}, nil
}

func answerAll(w io.Writer, line func() ([]byte, error), cost time.Duration, served *uint64) error {
	for {
		if err := answerOne(w, line, cost, served); err != nil {
			return err
		}
	}
}

// answerOne reads a request, takes its time and writes the answer.
func answerOne(w io.Writer, line func() ([]byte, error), cost time.Duration, served *uint64) error {
	if _, err := line(); err != nil {
		return err
	}
	if cost > 0 {
		for end := monotonic() + int64(cost); monotonic() < end; {
		}
	}
	*served++
	_, err := io.WriteString(w, answer)
	return err
}

// startPipelining has a connection served whose other end sends requests as
// fast as they are taken, and drops the answers. stop ends it.
func startPipelining(cfg *fairConfig, serve func(net.Conn) error) (stop func() error, err error) {
	l, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port,
		Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		unix.Close(fd)
		return nil, err
	}
	c, err := l.Accept()
	if err == nil {
		err = serve(c)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	ended := make(chan error, 2)
	onThread := func(f func() error) {
		go func() {
			release, err := cfg.lockThread()
			if err == nil {
				err = f()
				release()
			}
			ended <- err
		}()
	}
	onThread(func() error {
		for block := bytes.Repeat([]byte(request), 4096); ; {
			if n, err := unix.Write(fd, block); err != nil {
				return err
			} else if n < len(block) {
				if _, err := unix.Write(fd, block[n:]); err != nil { // so that requests stay whole
					return err
				}
			}
		}
	})
	onThread(func() error {
		for p := make([]byte, 64<<10); ; {
			if n, err := unix.Read(fd, p); err != nil || n == 0 {
				return err
			}
		}
	})
	return func() (err error) {
		unix.Shutdown(fd, unix.SHUT_RDWR)
		for range 2 {
			if e := <-ended; e != nil && !errors.Is(e, unix.EPIPE) &&
				!errors.Is(e, unix.ECONNRESET) {
				err = errors.Join(err, os.NewSyscallError("the client that pipelines", e))
			}
		}
		return errors.Join(err, unix.Close(fd))
	}, nil
}
