package socket

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/waitq"
	"github.com/netco-go/netco/processor"
)

// Server serves many connections that are idle most of the time: while one
// waits for its next request it holds no coroutine, no stack and no buffer. Its
// fields must not be changed once Serve has been called.
type Server struct {
	// Handle is called on a coroutine when c has something to read, or its
	// stream has ended, or a read deadline that Handle has set has passed: a
	// Read shows which of these it is. Handle may serve one request or many,
	// wait, and take its time. When it returns nil, c is idle again; with an
	// error, c is closed. Calls for one connection follow one another, on one
	// Processor unless the connection moves.
	Handle func(c *ServerConn) error

	// Opened, if it is not nil, is called for each connection before the
	// connection first waits, also if it is closed by then. An error closes it.
	Opened func(c *ServerConn) error

	// Closed, if it is not nil, is called for each connection after it was
	// closed, with the reason: the error of Handle or Opened,
	// os.ErrDeadlineExceeded for IdleTimeout, net.ErrClosed, ErrServerClosed or
	// ErrShutdown; nil if Handle did not return. Shutdown waits until Closed
	// has returned, so Closed must not wait for Shutdown. A connection that
	// Detach has taken ends without it.
	Closed func(c *ServerConn, err error)

	// IdleTimeout, if it is not 0, closes a connection that has been idle for
	// so long. It takes the place of the read deadline.
	IdleTimeout time.Duration

	// MaxConns, if it is not 0, limits the open connections that Serve has
	// accepted, over all listeners together. At the limit accepting pauses, as
	// with LimitListener, and goes on when a connection is closed, also one
	// that Detach took from the Server.
	MaxConns int

	// Name is the name of the coroutines that run Handle, Opened and Closed, in
	// logs, profiles and on pages; default "serve".
	Name string

	// Constant once there are connections: Name, and where Serve or ServeConn
	// was called first.
	label *string
	site  uintptr

	closing atomic.Bool // set under mu, for good: no more connections; none goes idle

	mu    waitq.Mutex // never held across a call or a park
	limit *fd.Limit   // of MaxConns; under mu until it is made, then constant
	// Under mu; pointers, as a listener's type need not be comparable.
	listeners map[*net.Listener]struct{}
	first     *ServerConn // under mu: all connections, through next
	open      int         // under mu: how many
	// Under mu: the calls of Shutdown that wait for open to become 0.
	empty waitq.Queue
}

// Errors of a Server.
var (
	// ErrServerClosed is returned by Serve after Shutdown or Close of the
	// Server.
	ErrServerClosed = errors.New("netco: server closed")

	errMaxConns = errors.New("netco: Server.MaxConns is negative")
)

// Serve accepts connections from l and serves them until accepting fails, and
// returns that error: net.ErrClosed after l was closed, ErrShutdown when the
// scheduler is ending, ErrServerClosed after Shutdown or Close. It closes l.
// Connections that were accepted are served on. Several calls may run at a
// time. Parks.
//
// l is a listener of package socket, or a type of the caller's around one that
// returns its connections as they are. A listener of package net or crypto/tls
// is refused at once, and any other at its first connection that is not a
// *TCPConn or *UnixConn itself, with an error that names the type.
//
// Each connection belongs to the Processor that has the fewest when the
// connection comes, and moves when a busy Processor gives work away, see
// Options.MinActive. While Options.MaxCoroutines are alive, the connection
// waits on its Processor for a coroutine.
//
//go:noinline
func (s *Server) Serve(l net.Listener) error {
	site := asm.CallerPC()
	if s.Handle == nil {
		panic("netco/socket: Server without Handle")
	}
	if l == nil {
		panic("netco/socket: Server.Serve without a listener")
	}
	if err := refuseListener(l); err != nil {
		l.Close()
		return err
	}
	key, err := s.addListener(l)
	if err != nil {
		l.Close()
		return err
	}
	l = *key
	defer s.dropListener(key)
	defer l.Close()
	for {
		c, err := acceptKept(l)
		if err != nil {
			if s.closing.Load() {
				return ErrServerClosed
			}
			return err
		}
		if err := refuseConn(c); err != nil {
			c.Close()
			return err
		}
		if err := s.serveConn(c.(Stream), nil, site); err != nil {
			return err
		}
	}
}

// acceptKept is l.Accept for a connection that its owner closes in any case:
// see conn.initKept.
func acceptKept(l net.Listener) (net.Conn, error) {
	switch l := l.(type) {
	case *TCPListener:
		return as[net.Conn](l.acceptKept())
	case *UnixListener:
		return as[net.Conn](l.acceptKept())
	}
	return l.Accept()
}

// ServeConn serves one connection, from now on until it is closed, and returns
// without waiting for it. The caller gives c up. value is its ServerConn's
// Value at first. The error is ErrServerClosed, or that no Processor runs, or
// that c is a type which embeds a connection; c is then closed.
//
//go:noinline
func (s *Server) ServeConn(c Stream, value any) error {
	return s.serveConn(c, value, asm.CallerPC())
}

func (s *Server) serveConn(c Stream, value any, site uintptr) error {
	if c == nil {
		panic("netco/socket: Server.ServeConn without a connection")
	}
	b := connOf(c)
	if b == nil {
		err := refuseConn(c)
		c.Close()
		return err
	}
	if !b.s.Made() {
		return net.ErrClosed
	}
	home := b.s.Home()
	var err error
	if home == nil {
		home, err = processor.Fewest()
	}
	sc := &ServerConn{Stream: c, Value: value, server: s}
	if err == nil {
		err = s.add(sc, site)
	}
	if err != nil {
		c.Close()
		return err
	}
	b.s.InitWatch(&sc.watch, (*served)(sc))
	if !sc.watch.Begin(processor.Current(), home) {
		c.Close()
		s.drop(sc)
		return coroutine.ErrShutdown
	}
	return nil
}

// Shutdown closes the listeners and the idle connections, lets the others go on
// until Handle returns, and waits for all to end or for ctx, whose error it
// then returns. In a bubble of testing/synctest it does not wait: ErrBubble.
// Parks.
func (s *Server) Shutdown(ctx context.Context) error {
	s.shut((*ServerConn).kick)
	limit := coroutine.Context(ctx)
	w := waitq.Acquire(limit)
	defer waitq.Release(w)
	s.mu.Lock()
	switch {
	case s.open == 0:
		s.mu.Unlock()
		return nil
	case w.InBubble():
		s.mu.Unlock()
		return coroutine.ErrBubble // the connections' coroutines are not in the bubble
	}
	s.empty.Push(w, waitq.AnyKind)
	s.mu.Unlock()
	return limit.Err(waitq.Wait(w, coroutine.ReasonJoin, limit, &s.mu,
		s.empty.Remove))
}

// Close closes the listeners and all connections, and does not wait for Handle
// to notice. The error is nil.
func (s *Server) Close() error {
	s.shut(func(c *ServerConn) { c.Stream.Close() })
	return nil
}

// shut begins the Server's end, and calls each for every connection.
func (s *Server) shut(each func(*ServerConn)) {
	s.mu.Lock()
	s.closing.Store(true)
	var listeners []net.Listener
	for l := range s.listeners {
		listeners = append(listeners, *l)
	}
	var conns []*ServerConn
	for c := s.first; c != nil; c = c.next {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, l := range listeners {
		l.Close()
	}
	for _, c := range conns {
		each(c)
	}
}

// addListener lists l and puts it under the limit of MaxConns. It returns the
// entry, whose listener Serve accepts from.
func (s *Server) addListener(l net.Listener) (key *net.Listener, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing.Load():
		return nil, ErrServerClosed
	case s.MaxConns < 0:
		return nil, errMaxConns
	}
	if s.MaxConns > 0 {
		l = s.limitLocked(l)
	}
	if s.listeners == nil {
		s.listeners = map[*net.Listener]struct{}{}
	}
	s.listeners[&l] = struct{}{}
	return &l, nil
}

func (s *Server) limitLocked(l net.Listener) net.Listener {
	if s.limit == nil {
		s.limit = &fd.Limit{Max: s.MaxConns}
	}
	if own, ok := l.(limitable); ok {
		if !s.servesLocked(own.lis()) {
			own.lis().AddLimit(s.limit)
		}
		return l
	}
	return newLimitedListener(l, s.limit)
}

// servesLocked reports whether another Serve accepts from l.
func (s *Server) servesLocked(l *fd.Listener) bool {
	for x := range s.listeners {
		if own, ok := (*x).(limitable); ok && own.lis() == l {
			return true
		}
	}
	return false
}

// dropListener removes the entry of a listener that is closed.
func (s *Server) dropListener(key *net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, key)
}

func (s *Server) add(c *ServerConn, site uintptr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return ErrServerClosed
	}
	if s.label == nil {
		name := s.Name
		if name == "" {
			name = "serve"
		}
		s.label, s.site = &name, site
	}
	if c.next = s.first; c.next != nil {
		c.next.prev = c
	}
	s.first = c
	s.open++
	return nil
}

func (s *Server) drop(c *ServerConn) {
	s.mu.Lock()
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		s.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.next, c.prev = nil, nil
	if s.open--; s.open == 0 {
		s.mu.TakeAll(&s.empty)
	}
	s.mu.Unlock()
}
