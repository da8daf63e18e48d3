package socket_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// inOrder runs take in two places at once, the second queued behind the first.
// What give gives goes to the first, and then to the second.
func inOrder(t *testing.T, reason coroutine.Reason,
	prepare func(t *testing.T) (take, give func() string)) {
	for _, first := range testrun.Places {
		t.Run("first "+first.Name, func(t *testing.T) {
			inPlaces(t, func(t *testing.T, second testrun.Place) {
				take, give := prepare(t)
				taken := [2]chan string{make(chan string, 1), make(chan string, 1)}
				a := first.Go(func() { taken[0] <- take() })
				a.UntilParked(t, reason)
				b := second.Go(func() { taken[1] <- take() })
				b.UntilParked(t, coroutine.ReasonLock)
				for i := range taken {
					want := give()
					testenv.Equal(t, testenv.Await(t, taken[i], "what was given"), want)
				}
				testrun.WaitAll(t, a, b)
			})
		})
	}
}

// TestTwoAcceptors: two accept on one listener, the second queued behind the
// first. C++ netco lost one of them.
func TestTwoAcceptors(t *testing.T) {
	inOrder(t, coroutine.ReasonAccept, func(t *testing.T) (take, give func() string) {
		l := listen(t)
		return func() string {
			c := testenv.Must(l.AcceptTCP())
			defer c.Close()
			return c.RemoteAddr().String()
		}, func() string { return dialNet(t, l.Addr().String()).LocalAddr().String() }
	})
}

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

// TestTwoReaders: two read from one connection, the second queued behind the
// first; each gets one of two bytes.
func TestTwoReaders(t *testing.T) {
	inOrder(t, coroutine.ReasonRead, func(t *testing.T) (take, give func() string) {
		c, peer := withPeer(t)
		next := byte('a')
		return func() string {
				var b [1]byte
				testenv.Must(c.Read(b[:]))
				return string(b[:])
			}, func() string {
				testenv.Must(peer.Write([]byte{next}))
				next++
				return string([]byte{next - 1})
			}
	})
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
