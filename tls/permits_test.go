package tls_test

import (
	"context"
	stdtls "crypto/tls"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/net"
	"github.com/netco-go/netco/sync"
	"github.com/netco-go/netco/tls"
)

// recorder takes what a client sends first, and then fails.
type recorder struct {
	net.Conn
	sent []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.sent = append(r.sent, p...)
	return len(p), nil
}
func (*recorder) Read([]byte) (int, error)         { return 0, io.EOF }
func (*recorder) Close() error                     { return nil }
func (*recorder) SetWriteDeadline(time.Time) error { return nil }

// hello is a ClientHello, in its record.
func hello() []byte {
	_, cc := configs()
	r := new(recorder)
	stdtls.Client(r, cc).Handshake()
	return r.sent
}

// awaiting calls waits once it is read from after so many bytes.
type awaiting struct {
	net.Conn
	bytes int
	waits func()
}

func (a *awaiting) Read(p []byte) (int, error) {
	if a.bytes == 0 {
		a.waits()
	}
	n, err := a.Conn.Read(p)
	a.bytes -= n
	return n, err
}

// TestStalledHandshakes: peers that do not go on with a handshake, wherever
// they stop, keep no permit: others shake hands. They kept all.
func TestStalledHandshakes(t *testing.T) {
	whole := hello()
	for name, sent := range map[string][]byte{
		"silent":            nil,
		"a byte":            whole[:1],
		"a header":          whole[:5],
		"all but one byte":  whole[:len(whole)-1],
		"a hello":           whole,
		"a hello, and more": append(whole[:len(whole):len(whole)], 22, 3, 3, 0),
	} {
		everywhereOf(t, name, func(t *testing.T, run runner) {
			const stalled = 5
			sc, cc := configs()
			limits := &tls.Limits{MaxHandshakes: 1, HandshakeTimeout: -1}
			var waiting sync.WaitGroup
			var peers []net.Conn
			var parts []func() error
			for range stalled {
				raw, peer := pair(t)
				testenv.Must(peer.Write(sent))
				waiting.Add(1)
				waits := sync.OnceFunc(waiting.Done)
				c := limits.Server(&awaiting{raw, len(sent), waits}, sc)
				peers = append(peers, peer)
				parts = append(parts, func() error {
					if err := c.Handshake(); err == nil {
						return errors.New("a handshake with a peer that has stalled")
					}
					return nil
				})
			}
			a, b := pair(t)
			run(append(parts, func() error {
				waiting.Wait()
				return limits.Server(a, sc).Handshake()
			}, func() error {
				err := limits.Client(b, cc).Handshake()
				for _, peer := range peers {
					peer.Close()
				}
				return err
			})...)
		})
	}
}

// TestMaxHandshakes: no more compute at a time.
func TestMaxHandshakes(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		sc, cc := configs()
		var computing, most atomic.Int32
		sc.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			n := computing.Add(1)
			defer computing.Add(-1)
			most.Store(max(most.Load(), n)) // by two at a time, if two may
			for range 10 {
				netco.Yield()
			}
			return nil, nil
		}
		limits := &tls.Limits{MaxHandshakes: 2}
		var parts []func() error
		for range 10 {
			a, b := pair(t)
			parts = append(parts, limits.Server(a, sc).Handshake, tls.Client(b, cc).Handshake)
		}
		run(parts...)
		if n := most.Load(); n > 2 {
			t.Errorf("%d handshakes at a time", n)
		}
	})
}

// TestMaxHandshakesEnds: a handshake that waits for its turn ends with its
// context and with its time, and computes nothing.
func TestMaxHandshakesEnds(t *testing.T) {
	const d = 5 * time.Millisecond
	for name, test := range map[string]struct {
		handshake, context time.Duration
		want               error
	}{
		"time":             {d, 0, os.ErrDeadlineExceeded},
		"time and context": {d, time.Hour, os.ErrDeadlineExceeded},
		"context":          {-1, d, context.DeadlineExceeded},
		"context and time": {time.Hour, d, context.DeadlineExceeded},
	} {
		everywhereOf(t, name, func(t *testing.T, run runner) {
			sc, _ := configs()
			var begun, over sync.WaitGroup
			begun.Add(1)
			over.Add(1)
			var hellos atomic.Int32
			sc.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
				if hellos.Add(1) == 1 {
					begun.Done()
				}
				over.Wait()
				return nil, errors.New("the first is over, too")
			}
			limits := &tls.Limits{MaxHandshakes: 1, HandshakeTimeout: -1} // the first's
			a, first := pair(t)
			b, second := pair(t)
			testenv.Must(first.Write(hello()))
			testenv.Must(second.Write(hello()))
			run(func() error {
				limits.Server(a, sc).Handshake()
				return nil
			}, func() error {
				defer over.Done()
				begun.Wait()
				limits.HandshakeTimeout = test.handshake
				ctx, cancel := context.Background(), func() {}
				if test.context != 0 {
					ctx, cancel = context.WithTimeout(ctx, test.context)
				}
				defer cancel()
				return isError(test.want)(0, limits.Server(b, sc).HandshakeContext(ctx))
			})
			testenv.Equal(t, hellos.Load(), 1, "hellos that were looked at")
		})
	}
}

// endsLate ends once a function is to be called after it, and does not call the
// function.
type endsLate struct {
	context.Context
	done chan struct{}
}

func (e endsLate) Done() <-chan struct{} { return e.done }

func (e endsLate) Err() error {
	select {
	case <-e.done:
		return context.Canceled
	default:
		return nil
	}
}

func (e endsLate) AfterFunc(func()) (stop func() bool) {
	close(e.done)
	return func() bool { return true }
}

// TestHandshakeCloses: a handshake that sees the end of its context before the
// function that closes the connection has started closes it. It left it open,
// and after a timeout it returned the context's error.
func TestHandshakeCloses(t *testing.T) {
	_, cc := configs()
	limits := &tls.Limits{MaxHandshakes: 1, HandshakeTimeout: -1}
	c, peer := pair(t)
	ctx := endsLate{context.Background(), make(chan struct{})}
	err := limits.Client(c, cc).HandshakeContext(ctx)
	testenv.Fails(t, err, context.Canceled, "HandshakeContext")
	testenv.OK(t, peer.SetReadDeadline(time.Now().Add(testenv.Limit)))
	testenv.Fails(t, testenv.Err(peer.Read(make([]byte, 1))), io.EOF, "the peer's Read")
}
