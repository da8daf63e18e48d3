package processor

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/invariant"
	"github.com/netco-go/netco/internal/testenv"
)

// TestNoSharedWords: what is not shared among Processors writes no word of the
// group, so no cache line goes from core to core for it: a request that comes
// while the Processor sleeps, a start, a wake, an accept. The group stands in a
// page of its own that is read-only meanwhile: a write to it, even one that
// changes nothing, ends the process with the stack of what has written. The
// lock of all running Processors is held, so what takes it hangs.
//
// A Processor that spins before it sleeps counts itself in the group, so none
// does here.
func TestNoSharedWords(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it does not look into the page
	runtime.GC()
	page := testenv.Must(unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE))
	defer unix.Munmap(page)
	from := NewGroup(nil)
	copy(page, unsafe.Slice((*byte)(unsafe.Pointer(from)), unsafe.Sizeof(*from)))
	g := (*Group)(unsafe.Pointer(&page[0]))
	addLike(t, g, compareAll+1, Config{Idle: 64, NoSpin: true}) // more than place compares
	g.SetMinActive(1)
	start(t, g)
	defer end(g)
	p := g.members[0]

	ask, stop := serveBytes(t, p)
	accept := acceptHere(t)
	for _, c := range []struct {
		name string
		f    func()
		out  bool // f is called by an ordinary goroutine
	}{
		{"request", ask, true},
		{"start", func() { join(t, g, coroutine.Spawn{Fn: func() {}}) }, false},
		{"start here", func() {
			join(t, g, coroutine.Spawn{Fn: coroutine.Yield, Local: true})
		}, false},
		{"sleep", func() { Sleep(time.Microsecond) }, false},
		{"accept", accept, false},
	} {
		t.Log(c.name)
		times := func() {
			c.f() // what the first needs
			readOnly(t, page, func() {
				for range 100 {
					c.f()
				}
			})
		}
		if c.out {
			times()
		} else {
			on(t, p, times)
		}
	}
	stop()
}

// readOnly calls f while the page must not be written and nothing can take the
// lock of running. With invariants f may not be called under a lock.
func readOnly(t *testing.T, page []byte, f func()) {
	if !invariant.Enabled {
		running.mu.Lock()
		defer running.mu.Unlock()
	}
	testenv.OK(t, unix.Mprotect(page, unix.PROT_READ))
	f()
	testenv.OK(t, unix.Mprotect(page, unix.PROT_READ|unix.PROT_WRITE))
}

// serveBytes has a coroutine on p return the bytes that ask sends and awaits,
// until stop.
func serveBytes(t *testing.T, p *Processor) (ask, stop func()) {
	pair := testenv.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	testenv.OK(t, unix.SetNonblock(pair[0], true))
	served := p.Pinned(func() {
		var pd PollDesc
		var b [1]byte
		for {
			pd.Clear(Read)
			switch n, err := unix.Read(pair[0], b[:]); {
			case n == 1:
				unix.Write(pair[0], b[:])
			case err == unix.EAGAIN:
				pd.Wait(pair[0], Read, coroutine.ReasonRead, 0)
			default:
				pd.Unbind()
				unix.Close(pair[0])
				return
			}
		}
	})
	ask = func() {
		var b [1]byte
		unix.Write(pair[1], b[:])
		n, err := unix.Read(pair[1], b[:])
		testenv.True(t, n == 1, "no answer: %v", err)
	}
	return ask, func() {
		unix.Close(pair[1])
		testenv.OK(t, served.Join())
	}
}

// acceptHere returns what connects, and accepts, registers and closes the
// connection on the caller's Processor.
func acceptHere(t *testing.T) func() {
	l := testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|
		unix.SOCK_NONBLOCK, 0))
	t.Cleanup(func() { unix.Close(l) })
	testenv.OK(t, unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	testenv.OK(t, unix.Listen(l, 8))
	addr := testenv.Must(unix.Getsockname(l))
	waits := new(PollDesc)
	waits.SetListener()
	return func() {
		client := testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		testenv.OK(t, unix.Connect(client, addr))
		var fd int
		for err := error(unix.EAGAIN); err != nil; {
			waits.Clear(Read)
			if fd, _, err = unix.Accept4(l, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK); err != nil {
				waits.Wait(l, Read, coroutine.ReasonAccept, 0)
			}
		}
		var pd PollDesc
		pd.Wait(fd, Write, coroutine.ReasonWrite, 0)
		pd.Unbind()
		unix.Close(fd)
		unix.Close(client)
	}
}
