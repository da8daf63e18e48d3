package processor_test

import (
	"context"
	"net"
	"testing"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
)

// guest is a coroutine of one Scheduler that reads a connection which another
// Scheduler's Processor watches, and then waits for release.
type guest struct {
	first, second *scheduler.Scheduler      // the connection's, its own
	client        net.Conn                  // the connection's other end
	at            chan *scheduler.Scheduler // where it is after each byte
	release       *channel.Chan[int]
	ended         chan bool // it has been released
}

// newGuest starts both Schedulers, of which the second takes two coroutines.
func newGuest(t *testing.T) *guest {
	t.Helper()
	g := &guest{at: make(chan *scheduler.Scheduler, 1), release: channel.Make[int](0),
		ended: make(chan bool, 1)}
	g.first = testenv.Must(scheduler.New(scheduler.Options{Processors: 2, MinActive: 2}))
	testenv.OK(t, g.first.Start())
	g.second = testenv.Must(scheduler.New(scheduler.Options{Processors: 1, MaxCoroutines: 2}))
	testenv.OK(t, g.second.Start())
	ln := testenv.Closing(t, testenv.Must(new(socket.ListenConfig).Listen(context.Background(),
		"tcp", "127.0.0.1:0")))
	g.client = testenv.Closing(t, testenv.Must(net.Dial("tcp", ln.Addr().String())))
	c := testenv.Closing(t, testenv.Must(ln.Accept()))
	read := func() error {
		_, err := c.Read(make([]byte, 1))
		g.at <- scheduler.Current()
		return err
	}
	procs := engine.Of(g.first).Processors()
	testenv.Must(g.first.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() {
		read()
	}}))
	g.sendTo(t, g.first)
	testenv.Must(g.second.Go(func() {
		read()
		read()
		_, err := g.release.RecvTimeout(testenv.Limit)
		g.ended <- err == nil
	}))
	g.sendTo(t, g.second)
	procs[0].GiveAll(procs[1])
	testenv.Until(t, "it to give all away", func() bool { return !procs[0].Gives() })
	g.sendTo(t, g.second)
	return g
}

// sendTo sends a byte once a coroutine of s waits for it.
func (g *guest) sendTo(t *testing.T, s *scheduler.Scheduler) {
	t.Helper()
	testenv.Until(t, "a coroutine to wait", func() bool {
		now := diagnose.ProgressOf(engine.Of(s).Processors())
		return now.Asleep && now.Live == 1
	})
	g.client.Write([]byte{1})
	testenv.Equal(t, testenv.Await(t, g.at, "the byte to be read"), s,
		"the reader is one of the other Scheduler")
}

// end releases the coroutine, and ends its Scheduler.
func (g *guest) end(t *testing.T) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- g.second.Shutdown(context.Background()) }()
	testenv.Until(t, "the end to begin", func() bool {
		return engine.Of(g.second).Group().Phase() == processor.Draining
	})
	testenv.OK(t, g.release.SendTimeout(1, testenv.Limit))
	testenv.NoError(t, testenv.Await(t, ended, "Shutdown"))
	select {
	case <-g.ended:
	default:
		t.Error("Shutdown has not waited for it")
	}
}

// TestGuestIsItsSchedulers: after a move was asked for, a Scheduler's coroutine
// is counted, limited and ended by its own, and by no other.
func TestGuestIsItsSchedulers(t *testing.T) {
	needMoves(t)
	t.Run("end", func(t *testing.T) {
		g := newGuest(t)
		defer g.first.Shutdown(context.Background())
		testenv.Equal(t, g.first.Live(), 0, "the other's")
		testenv.Equal(t, g.second.Live(), 1, "its own")
		g.end(t)
	})
	t.Run("the other's end", func(t *testing.T) {
		g := newGuest(t)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		testenv.NoError(t, g.first.Shutdown(over))
		if _, n := g.first.EndedByForce(); n != 0 {
			t.Errorf("%d coroutines were ended by force", n)
		}
		g.end(t)
	})
	t.Run("permits", func(t *testing.T) {
		g := newGuest(t)
		defer g.first.Shutdown(context.Background())
		h := testenv.Must(g.second.Go(func() {
			g.release.RecvTimeout(testenv.Limit)
		}))
		_, err := g.second.Go(func() {})
		testenv.Fails(t, err, processor.ErrTooManyCoroutines, "beside two")
		testenv.OK(t, g.release.SendTimeout(2, testenv.Limit))
		testenv.OK(t, g.release.SendTimeout(2, testenv.Limit))
		h.Join()
		testenv.Await(t, g.ended, "its end")
		for range 2 {
			testenv.Must(g.second.Go(func() { processor.Sleep(1) })).Join()
		}
		testenv.NoError(t, g.second.Shutdown(context.Background()))
	})
}
