package socket_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestManyAcceptors: three accept as fast as they can, and each connection goes
// to exactly one.
func TestManyAcceptors(t *testing.T) {
	const conns = 200
	start(t, 2)
	l := listen(t)
	accepted := make(chan string, conns)
	var tasks []*testrun.Task
	for _, p := range testrun.Places {
		tasks = append(tasks, p.Go(func() {
			for {
				c, err := l.AcceptTCP()
				if err != nil {
					checkClosed(t, "accept", err)
					return
				}
				accepted <- c.RemoteAddr().String()
				c.Close()
			}
		}))
	}
	want := map[string]bool{}
	for range conns {
		want[dialNet(t, l.Addr().String()).LocalAddr().String()] = true
	}
	for range conns {
		a := testenv.Await(t, accepted, "an accept")
		testenv.Equal(t, want[a], true, "the first accept of", a)
		delete(want, a)
	}
	l.Close()
	testrun.WaitAll(t, tasks...)
}

// TestReaderBesideWriter: both are parked on one connection; what the peer then
// does wakes the one it concerns, first one, then the other. C++ netco lost
// one.
func TestReaderBesideWriter(t *testing.T) {
	const total = 4 << 20
	for _, r := range testrun.Places {
		for _, readerFirst := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/reader first=%v", r.Name, readerFirst), func(t *testing.T) {
				inPlaces(t, func(t *testing.T, w testrun.Place) {
					c, peer := withPeer(t)
					c.SetWriteBuffer(256 << 10)
					peer.SetReadBuffer(256 << 10)
					reader := r.Go(func() { expect(t, c, "x") })
					writer := w.Go(func() { testenv.Gives(t, total, nil)(c.Write(pattern(total))) })
					reader.UntilParked(t, coroutine.ReasonRead)
					writer.UntilParked(t, coroutine.ReasonWrite)
					steps := []func(){func() {
						testenv.Gives(t, 1, nil)(peer.Write([]byte("x")))
						reader.Wait(t)
					}, func() {
						expect(t, peer, string(pattern(total)))
						writer.Wait(t)
					}}
					if !readerFirst {
						slices.Reverse(steps)
					}
					steps[0]()
					steps[1]()
				})
			})
		}
	}
}
