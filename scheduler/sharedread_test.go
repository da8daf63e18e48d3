package scheduler_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
)

// shares makes two Processors that share their fds, and returns the two ends of
// a connection. own is of netco.
func shares(t *testing.T) (own, peer net.Conn, procs []*processor.Processor) {
	t.Helper()
	procs = begin(t, netco.Options{Processors: 2})
	t.Cleanup(func() { netco.Shutdown(t.Context()) })
	procs[0].Group().Share()
	l := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	peer = testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
	return testenv.Must(l.Accept()), peer, procs
}

// TestSharedRead: a read of a shared connection that empties it is followed by
// no second read that finds nothing.
func TestSharedRead(t *testing.T) {
	const requests = 200
	own, peer, procs := shares(t)
	again := func() (n uint64) {
		for _, p := range procs {
			n += p.IO().Snapshot().ReadAgain
		}
		return n
	}
	before := again()
	done := make(chan error, 1)
	netco.Go(func() {
		b := make([]byte, 64)
		var err error
		for range requests {
			if _, err = own.Read(b); err != nil {
				break
			}
			own.Write(b[:1])
			procs[0].Group().Share() // the monitor may have ended sharing, since runs are short
		}
		done <- errors.Join(err, own.Close())
	})
	b := make([]byte, 1)
	for range requests {
		peer.Write([]byte("hello"))
		if _, err := io.ReadFull(peer, b); err != nil {
			t.Fatal(err)
		}
	}
	testenv.OK(t, <-done)
	n := again() - before
	testenv.True(t, n <= requests/4, "%d of %d requests cost a read in vain", n, requests)
}

// TestSharedEnd: the end of a stream is read if it arrives with the last bytes,
// before they are read.
func TestSharedEnd(t *testing.T) {
	own, peer, _ := shares(t)
	waits, sent, done := make(chan bool), make(chan bool), make(chan error, 1)
	h, _ := netco.Go(func() {
		defer own.Close()
		b := make([]byte, 64)
		_, err := own.Read(b) // waits, so that the connection is shared
		close(waits)
		<-sent
		n, err2 := own.Read(b)
		if string(b[:n]) != "last" {
			t.Errorf("got %q", b[:n])
		}
		_, end := own.Read(b)
		testenv.Equal(t, end, io.EOF, "the end is")
		done <- errors.Join(err, err2)
	})
	testenv.Until(t, "it waits", func() bool {
		info, _ := h.Info()
		return info.Reason == coroutine.ReasonRead
	})
	peer.Write([]byte("first"))
	<-waits
	peer.Write([]byte("last"))
	peer.(*net.TCPConn).CloseWrite()
	close(sent)
	testenv.OK(t, <-done)
}
