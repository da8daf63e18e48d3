package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/examples/internal/activation"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// service serves requests. One socket.Server has the connections of all
// listeners, so that one limit holds for them together and idle ones cost no
// coroutine.
type service struct {
	*config
	log    *zap.Logger
	meters *meters
	server socket.Server
	open   atomic.Int64 // connections

	ending  atomic.Bool     // it drains
	frames  *sync.Semaphore // bytes of large requests
	jobs    *sync.Semaphore // for each job that blocks
	jobWait time.Duration

	leaked leak
}

func newService(c *config, log *zap.Logger, r prometheus.Registerer) *service {
	s := &service{config: c, log: log,
		frames: sync.NewSemaphore(int64(max(c.frameMemory, c.maxFrame))),
		jobs:   sync.NewSemaphore(maxJobs), jobWait: jobWait}
	s.meters = newMeters(r, c.maxConns, func() float64 { return float64(s.open.Load()) })
	s.server = socket.Server{
		Name:        "request",
		Handle:      s.handle,
		Opened:      s.opened,
		Closed:      s.closed,
		IdleTimeout: c.idleTimeout,
		MaxConns:    c.maxConns,
	}
	return s
}

// listen returns what to accept from: the sockets that systemd hands over, or
// else those of the flags.
func (c *config) listen() (all []net.Listener, err error) {
	defer func() {
		if err != nil {
			closeAll(all)
			all = nil
		}
	}()
	inherited, err := activation.Files()
	if err != nil {
		return nil, err
	}
	for _, f := range inherited {
		ln, err := conet.FileListener(f) // of a duplicate
		f.Close()
		if err != nil {
			return all, fmt.Errorf("the fd %q that was handed over: %w", f.Name(), err)
		}
		all = append(all, ln)
	}
	if len(all) > 0 {
		return all, nil
	}
	for _, l := range []struct{ network, address string }{{"tcp", c.addr}, {"unix", c.unix}} {
		if l.address == "" {
			continue
		}
		if l.network == "unix" {
			removeStale(l.address)
		}
		ln, err := netco.Listen(l.network, l.address)
		if err != nil {
			return all, err
		}
		all = append(all, ln)
	}
	if len(all) == 0 {
		return nil, errors.New("nothing to listen on: neither -addr nor -unix nor a socket that " +
			"was handed over")
	}
	return all, nil
}

// removeStale removes the socket that a daemon which was killed has left
// behind: the kernel refuses connections to it. Any other stays, also one
// whose owner only has no time, and is an error of listening.
func removeStale(path string) {
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSocket == 0 {
		return
	}
	c, err := net.DialTimeout("unix", path, time.Second) //netco-vet:ok once, at the start
	if err == nil {
		c.Close()
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(path)
	}
}

func closeAll(all []net.Listener) {
	for _, l := range all {
		l.Close()
	}
}

// accept is a coroutine for each listener.
func (s *service) accept(l net.Listener) {
	switch err := s.server.Serve(l); {
	case errors.Is(err, netco.ErrShutdown), errors.Is(err, socket.ErrServerClosed):
		s.log.Info("accepts no more", zap.Stringer("address", l.Addr()))
	default:
		s.log.Error("cannot accept", zap.Stringer("address", l.Addr()), zap.Error(err))
	}
}

func (s *service) opened(c *socket.ServerConn) error {
	s.open.Add(1)
	s.meters.opened.Inc()
	c.Value = socket.NewBuffered(c.Stream)
	return nil
}

func (s *service) closed(c *socket.ServerConn, why error) {
	s.open.Add(-1)
	s.meters.closed(why)
	s.log.Debug("closed", zap.Stringer("peer", c.RemoteAddr()), zap.NamedError("why", why))
}

// handle serves what has come in. It leaves nothing in the buffers, so that the
// connection can be idle without any.
func (s *service) handle(c *socket.ServerConn) error {
	b := c.Value.(*socket.Buffered)
	for {
		c.SetReadDeadline(time.Now().Add(s.readTimeout))
		c.SetWriteDeadline(time.Now().Add(s.writeTimeout))
		if err := s.next(b); err != nil {
			return err
		}
		if b.Buffered() > 0 {
			continue
		}
		if err := b.Flush(); err != nil {
			return err
		}
		return c.SetReadDeadline(time.Time{})
	}
}

// next reads one request and answers it.
func (s *service) next(b *socket.Buffered) error {
	r, err := readRequest(b, s.maxFrame, s.frames)
	defer r.release()
	if errors.Is(err, errTooLong) || errors.Is(err, errNoMemory) {
		answer(b, statusError, r.number, []byte(err.Error()))
		b.Flush()
	}
	if err != nil {
		return err
	}
	return s.serve(b, r)
}

// serve answers one request. What is wrong with the request goes to the client;
// an error ends the connection.
func (s *service) serve(b *socket.Buffered, r request) error {
	m := s.meters.of(r.command)
	start := time.Now()
	err := s.do(b, r)
	m.seconds.Observe(time.Since(start).Seconds())
	var refusal refusal
	if errors.As(err, &refusal) {
		m.refused.Inc()
		return answer(b, statusError, r.number, []byte(refusal))
	}
	if err != nil {
		m.failed.Inc()
		return err
	}
	m.done.Inc()
	return nil
}

// refusal is the answer to a request that cannot be served.
type refusal string

func (r refusal) Error() string { return string(r) }

// endings are the words for why a connection ended, for a metric's label, and
// the errors that they stand for.
var endings = []struct {
	why  string
	errs []error
}{
	{"cut", []error{io.ErrUnexpectedEOF}},
	{"end", []error{io.EOF}},
	{"timeout", []error{os.ErrDeadlineExceeded}},
	{"bad", []error{errTooLong}},
	{"memory", []error{errNoMemory}},
	{"shutdown", []error{netco.ErrShutdown, socket.ErrServerClosed, context.Canceled}},
	{"panic", []error{nil}},
	{"reset", nil}, // all others
}

// ended says why a connection ended.
func ended(err error) string {
	for _, e := range endings {
		for _, is := range e.errs {
			if errors.Is(err, is) {
				return e.why
			}
		}
	}
	return "reset"
}
