package socket_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestFDMutexRules walks through what fdMutex promises to one caller.
func TestFDMutexRules(t *testing.T) {
	var m socket.FDMutex
	if !m.Lock(socket.Reading) || !m.Lock(socket.Writing) || !m.Use() {
		t.Fatal("a new mutex refuses")
	}
	if m.Unlock(socket.Reading) || m.Unuse() {
		t.Error("last user of an open fd")
	}
	if !m.Lock(socket.Reading) {
		t.Error("the read lock was not free again")
	}
	if !m.Close() || m.Close() {
		t.Error("close succeeds exactly once")
	}
	if m.Lock(socket.Reading) || m.Lock(socket.Writing) || m.Use() {
		t.Error("a closed mutex was taken")
	}
	if m.Unlock(socket.Writing) || m.Unlock(socket.Reading) {
		t.Error("last user before the closer")
	}
	if !m.Unuse() {
		t.Error("the closer was the last user and was not told")
	}
	if !m.Idle() {
		t.Error("not idle")
	}
}

func TestFDMutexUnlockUnlocked(t *testing.T) {
	for _, prepare := range []func(*socket.FDMutex){
		func(m *socket.FDMutex) {},
		func(m *socket.FDMutex) { m.Lock(socket.Writing) },
		func(m *socket.FDMutex) { m.Use() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			var m socket.FDMutex
			prepare(&m)
			m.Unlock(socket.Reading)
		}()
	}
}

// TestFDMutexFIFO: those queued get the lock in the order in which they came,
// coroutines and goroutines alike.
func TestFDMutexFIFO(t *testing.T) {
	start(t, 2)
	var m socket.FDMutex
	m.Lock(socket.Reading)
	var (
		mu    sync.Mutex
		order []int
		tasks []*testrun.Task
	)
	for i := range 9 {
		k := testrun.Places[i%len(testrun.Places)].Go(func() {
			if !m.Lock(socket.Reading) {
				t.Error("closed")
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			m.Unlock(socket.Reading)
		})
		k.UntilParked(t, coroutine.ReasonLock)
		tasks = append(tasks, k)
	}
	m.Lock(socket.Writing) // in no reader's way
	m.Unlock(socket.Writing)
	m.Unlock(socket.Reading)
	testrun.WaitAll(t, tasks...)
	for i, n := range order {
		if i != n {
			t.Errorf("order %v", order)
			break
		}
	}
	if !m.Idle() {
		t.Error("not idle")
	}
}

// TestFDMutexHammer: locks, uses and a close from everywhere at random. At no
// time do two hold one lock; after the close all return, and exactly one is
// whose call was the last.
func TestFDMutexHammer(t *testing.T) {
	start(t, 2)
	for range 20 {
		seed := rand.Uint64()
		if !hammerFDMutex(t, seed) {
			t.Fatalf("seed %d", seed)
		}
	}
}

func hammerFDMutex(t *testing.T, seed uint64) bool {
	const tasks, rounds = 12, 300
	var (
		m       socket.FDMutex
		holders [2]atomic.Int32
		last    atomic.Int32
		running []*testrun.Task
	)
	freed := func(l bool) {
		if l {
			last.Add(1)
		}
	}
	closer := rand.New(rand.NewPCG(seed, 0)).IntN(tasks)
	for i := range tasks {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		running = append(running, testrun.Places[i%len(testrun.Places)].Go(func() {
			for round := range rounds {
				if i == closer && round == rounds/2 {
					if !m.Close() {
						t.Error("closed by another")
					}
					freed(m.Unuse())
				}
				if rnd.IntN(4) == 0 {
					if !m.Use() {
						return
					}
					if rnd.IntN(2) == 0 {
						netco.Yield()
					}
					freed(m.Unuse())
					continue
				}
				s, h := socket.Reading, &holders[0]
				if rnd.IntN(2) == 0 {
					s, h = socket.Writing, &holders[1]
				}
				if !m.Lock(s) {
					return
				}
				testenv.Equal(t, h.Add(1), 1)
				for range rnd.IntN(3) {
					netco.Yield()
				}
				h.Add(-1)
				freed(m.Unlock(s))
			}
		}))
	}
	testrun.WaitAll(t, running...)
	testenv.Equal(t, last.Load(), 1)
	if !m.Idle() {
		t.Error("not idle at the end")
	}
	return !t.Failed()
}

// TestFDMutexForcedShutdown: coroutines that are made to leave the queue while
// others unlock and close. Goroutines in the same queue still get their turn.
func TestFDMutexForcedShutdown(t *testing.T) {
	for range 10 {
		startAlone(t, 2)
		var m socket.FDMutex
		m.Lock(socket.Reading)
		var tasks []*testrun.Task
		for i := range 12 {
			k := testrun.Places[i%len(testrun.Places)].Go(func() {
				if m.Lock(socket.Reading) {
					m.Unlock(socket.Reading)
				}
			})
			k.UntilParked(t, coroutine.ReasonLock)
			tasks = append(tasks, k)
		}
		unlocked := make(chan struct{})
		go func() {
			defer close(unlocked)
			m.Unlock(socket.Reading)
		}()
		force(t)
		<-unlocked
		testrun.WaitAll(t, tasks...)
		if !m.Idle() {
			t.Fatal("not idle at the end")
		}
	}
}

// inOrder runs take in two places at once, the second queued behind the first.
// What give gives goes to the first, and then to the second.
func inOrder(t *testing.T, reason coroutine.Reason,
	prepare func(t *testing.T) (take, give func() string)) {
	for _, first := range testrun.Places {
		for _, second := range testrun.Places {
			t.Run(first.Name+" and "+second.Name, func(t *testing.T) {
				start(t, 2)
				take, give := prepare(t)
				taken := [2]chan string{make(chan string, 1), make(chan string, 1)}
				a := first.Go(func() { taken[0] <- take() })
				a.UntilParked(t, reason)
				b := second.Go(func() { taken[1] <- take() })
				b.UntilParked(t, coroutine.ReasonLock)
				for i := range taken {
					want := give()
					testenv.Equal(t, testenv.Await(t, taken[i], "what was given"), want, "got")
				}
				testrun.WaitAll(t, a, b)
			})
		}
	}
}

// TestTwoAcceptors: two accept on one listener, the second queued behind the
// first. C++ netco lost one of them.
func TestTwoAcceptors(t *testing.T) {
	inOrder(t, coroutine.ReasonAccept, func(t *testing.T) (take, give func() string) {
		l := listen(t)
		take = func() string {
			c, err := l.AcceptTCP()
			if err != nil {
				return err.Error()
			}
			defer c.Close()
			return c.RemoteAddr().String()
		}
		give = func() string {
			c := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
			return c.LocalAddr().String()
		}
		return take, give
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
		peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
		want[peer.LocalAddr().String()] = true
	}
	for range conns {
		a := testenv.Await(t, accepted, "an accept")
		if !want[a] {
			t.Errorf("accepted %s twice, or from nowhere", a)
		}
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
		take = func() string {
			b := make([]byte, 1)
			n, err := c.Read(b)
			if err != nil {
				return err.Error()
			}
			return string(b[:n])
		}
		next := byte('a')
		give = func() string {
			b := []byte{next}
			testenv.Must(peer.Write(b))
			next++
			return string(b)
		}
		return take, give
	})
}

// TestTwoWriters: Writes to one connection do not mix.
func TestTwoWriters(t *testing.T) {
	const size, writes = 200 << 10, 4
	start(t, 2)
	c, peer := withPeer(t)
	var tasks []*testrun.Task
	for i, p := range testrun.Places {
		tasks = append(tasks, p.Go(func() {
			msg := make([]byte, size)
			for j := range msg {
				msg[j] = byte(i)
			}
			for range writes {
				testenv.Gives(t, size, nil)(c.Write(msg))
			}
		}))
	}
	msg := make([]byte, size)
	for range writes * len(testrun.Places) {
		testenv.Must(io.ReadFull(peer, msg))
		for j := range msg {
			if msg[j] != msg[0] {
				t.Fatalf("a message of writer %d has a byte of writer %d at %d", msg[0], msg[j], j)
			}
		}
	}
	testrun.WaitAll(t, tasks...)
}

// TestReaderBesideWriter: both are parked on one connection; what the peer then
// does wakes the one it concerns, first one, then the other. C++ netco lost
// one.
func TestReaderBesideWriter(t *testing.T) {
	const total = 4 << 20
	for _, r := range testrun.Places {
		for _, w := range testrun.Places {
			for _, readerFirst := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s and %s/reader first=%v", r.Name, w.Name, readerFirst),
					func(t *testing.T) {
						start(t, 2)
						c, peer := withPeer(t)
						c.SetWriteBuffer(256 << 10)
						peer.SetReadBuffer(256 << 10)
						reader := r.Go(func() {
							var b [2]byte
							if n, err := c.Read(b[:]); n != 1 || err != nil || b[0] != 'x' {
								t.Errorf("read %d, %v", n, err)
							}
						})
						writer := w.Go(func() {
							testenv.Gives(t, total, nil)(c.Write(pattern(total)))
						})
						reader.UntilParked(t, coroutine.ReasonRead)
						writer.UntilParked(t, coroutine.ReasonWrite)
						drain := func() {
							got := make([]byte, total)
							n, err := io.ReadFull(peer, got)
							if d := differs(got, 0); err != nil || d != "" {
								t.Errorf("the peer read %d, %v %s", n, err, d)
							}
							writer.Wait(t)
						}
						feed := func() {
							testenv.NoError(t, testenv.Err(peer.Write([]byte("x"))))
							reader.Wait(t)
						}
						if readerFirst {
							feed()
							drain()
						} else {
							drain()
							feed()
						}
					})
			}
		}
	}
}
