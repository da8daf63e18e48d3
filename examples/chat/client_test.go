package main

import (
	"net"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// TestLost: a connection that was reset is counted as lost.
func TestLost(t *testing.T) {
	for _, kind := range []string{"lines", "web"} {
		t.Run(kind, func(t *testing.T) {
			s := start(t, nil)
			p := s.connect(t, kind, "a")
			testenv.OK(t, p.Conn.(*net.TCPConn).SetLinger(0))
			p.Close()
			testenv.Until(t, "the end", func() bool { return s.counts.clients.Load() == 0 })
			testenv.Until(t, "its count", func() bool { return s.counts.ends[1].Load() == 1 })
		})
	}
}

// heldConn holds the calls that set a deadline of long ago until it is
// released.
type heldConn struct {
	net.Conn
	entered, release chan bool
}

func (c *heldConn) SetReadDeadline(t time.Time) error {
	if t.Before(time.Unix(2, 0)) {
		c.entered <- true
		<-c.release
	}
	return c.Conn.SetReadDeadline(t)
}

// TestEndsOnce: where another has begun to end a client, its own end waits
// until the deadline for that is set, which must not follow the one for the
// answer.
func TestEndsOnce(t *testing.T) {
	s := start(t, nil)
	conn, peer := net.Pipe()
	defer peer.Close()
	held := &heldConn{conn, make(chan bool), make(chan bool)}
	c := newClient(s.server, held, nil, lineWire{})
	go c.end(goingAway)
	testenv.Await(t, held.entered, "the deadline")
	ended := make(chan bool)
	go func() {
		defer close(ended)
		c.end(quit)
	}()
	select {
	case <-ended:
		t.Error("the second end has not waited")
	case <-time.After(20 * time.Millisecond):
	}
	close(held.release)
	testenv.Await(t, ended, "the second end")
	testenv.Equal(t, c.ended.Load(), goingAway, "ended")
}
