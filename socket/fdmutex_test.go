package socket_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
	if !m.UnlockIfOpen(socket.Writing) || !m.Lock(socket.Writing) {
		t.Error("the write lock was not released, or not free again")
	}
	if open, written := m.Close(); !open || !written {
		t.Error("close of an open fd with a writer:", open, written)
	}
	if open, _ := m.Close(); open {
		t.Error("close succeeds twice")
	}
	if m.UnlockIfOpen(socket.Writing) {
		t.Error("the write lock of a closed fd was released")
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
		var m socket.FDMutex
		prepare(&m)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			m.Unlock(socket.Reading)
		}()
	}
}

// lockQueue holds m's read lock and starts n tasks that queue for it and then
// do got, if they get it, and unlock.
func lockQueue(t *testing.T, m *socket.FDMutex, n int, got func(i int)) (tasks []*testrun.Task) {
	t.Helper()
	m.Lock(socket.Reading)
	for i := range n {
		k := testrun.Places[i%len(testrun.Places)].Go(func() {
			if m.Lock(socket.Reading) {
				got(i)
				m.Unlock(socket.Reading)
			}
		})
		k.UntilParked(t, coroutine.ReasonLock)
		tasks = append(tasks, k)
	}
	return tasks
}

// TestFDMutexFIFO: those queued get the lock in the order in which they came,
// coroutines and goroutines alike.
func TestFDMutexFIFO(t *testing.T) {
	start(t, 2)
	var m socket.FDMutex
	var order []int // under the lock
	tasks := lockQueue(t, &m, 9, func(i int) { order = append(order, i) })
	m.Lock(socket.Writing) // in no reader's way
	m.Unlock(socket.Writing)
	m.Unlock(socket.Reading)
	testrun.WaitAll(t, tasks...)
	testenv.Equal(t, fmt.Sprint(order), "[0 1 2 3 4 5 6 7 8]")
	testenv.Equal(t, m.Idle(), true, "idle")
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
					if open, written := m.Close(); !open || !written && holders[1].Load() > 0 {
						t.Error("closed:", !open, "written:", written)
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
				if rnd.IntN(2) == 0 && m.UnlockIfOpen(s) {
					continue
				}
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
		tasks := lockQueue(t, &m, 12, func(int) {})
		unlocked := testrun.Goroutine.Go(func() { m.Unlock(socket.Reading) })
		force(t)
		testrun.WaitAll(t, append(tasks, unlocked)...)
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
