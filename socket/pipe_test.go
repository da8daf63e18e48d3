package socket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// eachPipe runs a test in each place, with two Processors.
func eachPipe(t *testing.T, body func(t *testing.T, p testrun.Place, a, b net.Conn)) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		a, b := socket.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		body(t, p, a, b)
	})
}

// TestPipeOneProcessor: both ends on one Processor, both directions at once.
func TestPipeOneProcessor(t *testing.T) {
	start(t, 1)
	a, b := socket.Pipe()
	want := pattern(300_000)
	echoer := testrun.First.Go(func() { io.Copy(b, b); b.Close() })
	writer := testrun.First.Go(func() {
		if n, err := a.Write(want); n != len(want) || err != nil {
			t.Errorf("Write: %d, %v", n, err)
		}
	})
	testrun.First.Do(t, func() {
		got := make([]byte, len(want))
		if n, err := io.ReadFull(a, got); err != nil {
			t.Errorf("ReadFull: %d, %v", n, err)
		}
		if wrong := differs(got, 0); wrong != "" {
			t.Error(wrong)
		}
		a.Close()
	})
	writer.Wait(t)
	echoer.Wait(t)
}

// TestPipeUnbuffered: a write is done when reads have taken all of it, and a
// write of nothing when one has met it.
func TestPipeUnbuffered(t *testing.T) {
	eachPipe(t, func(t *testing.T, p testrun.Place, a, b net.Conn) {
		for _, data := range []string{"", "a", "abc"} {
			k := p.Go(func() {
				if n, err := a.Write([]byte(data)); n != len(data) || err != nil {
					t.Errorf("Write %q: %d, %v", data, n, err)
				}
			})
			for rest := data; ; rest = rest[1:] {
				k.UntilParked(t, coroutine.ReasonWrite)
				one := make([]byte, 1)
				n, err := b.Read(one)
				if want := rest[:min(1, len(rest))]; string(one[:n]) != want || err != nil {
					t.Fatalf("Read of %q: %q, %v", rest, one[:n], err)
				}
				if len(rest) <= 1 {
					break
				}
			}
			k.Wait(t)
		}
	})
}

// TestPipeWritesStayTogether: what one write has is not mixed with another's,
// though it takes many reads.
func TestPipeWritesStayTogether(t *testing.T) {
	start(t, 2)
	a, b := socket.Pipe()
	const size, each = 1000, 50
	var writers []*testrun.Task
	for i := range 6 {
		writers = append(writers, testrun.Places[i%len(testrun.Places)].Go(func() {
			for range each {
				if _, err := a.Write(bytes.Repeat([]byte{byte('A' + i)}, size)); err != nil {
					t.Error(err)
				}
			}
		}))
	}
	got := make([]byte, size)
	for range len(writers) * each {
		for n := 0; n < size; n += 77 {
			testenv.Must(io.ReadFull(b, got[n:min(size, n+77)]))
		}
		if !bytes.Equal(got, bytes.Repeat(got[:1], size)) {
			t.Fatalf("mixed: %q", got)
		}
	}
	testrun.WaitAll(t, writers...)
	a.Close()
	if n, err := b.Read(got); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// pipeOps are the operations that wait, with what each of them reports on.
var pipeOps = []struct {
	op     string
	reason coroutine.Reason
	do     func(net.Conn) (int, error)
	set    func(net.Conn, time.Time) error
}{
	{"read", coroutine.ReasonRead, func(c net.Conn) (int, error) {
		return c.Read(make([]byte, 10))
	}, net.Conn.SetReadDeadline},
	{"write", coroutine.ReasonWrite, func(c net.Conn) (int, error) {
		return c.Write(make([]byte, 10))
	}, net.Conn.SetWriteDeadline},
}

func eachPipeOp(t *testing.T, body func(t *testing.T, p testrun.Place, a, b net.Conn, i int)) {
	for i := range pipeOps {
		t.Run(pipeOps[i].op, func(t *testing.T) {
			eachPipe(t, func(t *testing.T, p testrun.Place, a, b net.Conn) { body(t, p, a, b, i) })
		})
	}
}

// pipeTimeout checks that err is what net.Pipe's ends return.
func pipeTimeout(t *testing.T, op string, err error) {
	t.Helper()
	var e *net.OpError
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &e) || e.Op != op ||
		e.Net != "pipe" || !e.Timeout() {
		t.Errorf("%s: %v", op, err)
	}
}

// TestPipeDeadlines: one that has passed, one that comes, and one that is moved
// here while the operation waits without one.
func TestPipeDeadlines(t *testing.T) {
	eachPipeOp(t, func(t *testing.T, p testrun.Place, a, b net.Conn, i int) {
		x := pipeOps[i]
		for range 3 {
			for _, wait := range []time.Duration{-time.Hour, 3 * time.Millisecond} {
				p.Do(t, func() {
					at := time.Now().Add(wait)
					x.set(a, at)
					_, err := x.do(a)
					pipeTimeout(t, x.op, err)
					if time.Now().Before(at) {
						t.Error("too early")
					}
				})
			}
			for _, first := range []time.Time{{}, future} {
				x.set(a, first)
				k := p.Go(func() {
					_, err := x.do(a)
					pipeTimeout(t, x.op, err)
				})
				k.UntilParked(t, x.reason)
				x.set(a, past)
				k.Wait(t)
			}
		}
		// The deadline of the other direction does not matter, and one taken
		// back neither.
		pipeOps[1-i].set(a, past)
		x.set(a, time.Time{})
		k := p.Go(func() {
			if _, err := x.do(a); err != nil {
				t.Error(err)
			}
		})
		k.UntilParked(t, x.reason)
		testrun.Goroutine.Go(func() { pipeOps[1-i].do(b) }).Wait(t)
		k.Wait(t)
	})
}

// TestPipePartialWrite: a deadline in the middle of a write returns how much
// went, and the rest is not there for later reads.
func TestPipePartialWrite(t *testing.T) {
	eachPipe(t, func(t *testing.T, p testrun.Place, a, b net.Conn) {
		k := p.Go(func() {
			n, err := a.Write([]byte("abcdef"))
			if n != 2 {
				t.Errorf("wrote %d", n)
			}
			pipeTimeout(t, "write", err)
		})
		k.UntilParked(t, coroutine.ReasonWrite)
		if n, err := b.Read(make([]byte, 2)); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		a.SetWriteDeadline(past)
		k.Wait(t)
		b.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := b.Read(make([]byte, 10))
		pipeTimeout(t, "read", err)
	})
}

// TestPipeClose: closing either end ends what waits on either end, with
// net.Pipe's errors, and so all that comes later.
func TestPipeClose(t *testing.T) {
	for _, local := range []bool{true, false} {
		eachPipeOp(t, func(t *testing.T, p testrun.Place, a, b net.Conn, i int) {
			x := pipeOps[i]
			want := io.ErrClosedPipe
			if x.op == "read" && !local {
				want = io.EOF
			}
			check := func() {
				if n, err := x.do(a); n != 0 || err != want {
					t.Errorf("%d, %v, want %v", n, err, want)
				}
			}
			var waiting []*testrun.Task
			for range 3 { // of writes, two wait for their turn
				k := p.Go(check)
				k.UntilParked(t, x.reason)
				waiting = append(waiting, k)
			}
			closing := b
			if local {
				closing = a
			}
			for range 2 {
				if err := closing.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			testrun.WaitAll(t, waiting...)
			p.Go(check).Wait(t)
			for _, c := range []net.Conn{a, b} {
				if err := c.SetDeadline(time.Now()); err != io.ErrClosedPipe {
					t.Errorf("SetDeadline: %v", err)
				}
			}
		})
	}
}

// TestPipeWakesTheNext: a reader who leaves something wakes another.
func TestPipeWakesTheNext(t *testing.T) {
	eachPipe(t, func(t *testing.T, p testrun.Place, a, b net.Conn) {
		var readers []*testrun.Task
		for range 3 {
			k := p.Go(func() {
				if n, err := b.Read(make([]byte, 1)); n != 1 || err != nil {
					t.Errorf("Read: %d, %v", n, err)
				}
			})
			k.UntilParked(t, coroutine.ReasonRead)
			readers = append(readers, k)
		}
		p.Do(t, func() {
			if n, err := a.Write([]byte("xyz")); n != 3 || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
		})
		testrun.WaitAll(t, readers...)
	})
}

// TestPipeShutdown: the end of the scheduler by force ends what waits, as on a
// socket.
func TestPipeShutdown(t *testing.T) {
	for i, x := range pipeOps {
		t.Run(x.op, func(t *testing.T) {
			testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
			a, b := socket.Pipe()
			defer b.Close()
			var errs []error
			k := testrun.First.Go(func() {
				for range 2 {
					_, err := pipeOps[i].do(a)
					errs = append(errs, err)
				}
			})
			k.UntilParked(t, x.reason)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			netco.Shutdown(ctx)
			k.Wait(t)
			for _, err := range errs {
				if !errors.Is(err, coroutine.ErrShutdown) {
					t.Error(err)
				}
			}
		})
	}
}

// TestPipeYields: a coroutine that never finds itself without something to
// read, as its peer on another thread is quick, lets the others of its
// Processor run.
func TestPipeYields(t *testing.T) {
	start(t, 1)
	a, b := socket.Pipe()
	peer := testrun.Goroutine.Go(func() {
		for {
			if _, err := a.Write([]byte("x")); err != nil {
				return
			}
		}
	})
	var stop atomic.Bool
	busy := testrun.First.Go(func() {
		for !stop.Load() {
			if socket.PipeOffered(b) { // so it never parks
				b.Read(make([]byte, 1))
			} else {
				runtime.Gosched() // to the peer, if there is one core for both
			}
		}
	})
	<-busy.Started
	other := testrun.First.Go(func() {})
	select {
	case <-other.Done:
	case <-time.After(limit):
		t.Error("it never got the thread")
	}
	stop.Store(true)
	busy.Wait(t)
	other.Wait(t)
	a.Close()
	peer.Wait(t)
}

// TestPipeLikeNet: a script of operations has on net.Pipe's ends, on
// goroutines, the results that it has here.
func TestPipeLikeNet(t *testing.T) {
	script := func(a, b net.Conn) (log []string) {
		say := func(v ...any) { log = append(log, fmt.Sprint(v...)) }
		say(a.LocalAddr(), a.RemoteAddr(), a.LocalAddr().Network())
		a.SetDeadline(past)
		for _, x := range pipeOps {
			say(x.do(a))
		}
		a.SetDeadline(time.Time{})
		done := make(chan struct{})
		go func() { defer close(done); say(a.Write([]byte("hello"))); say(a.Write(nil)) }()
		p := make([]byte, 3)
		var reads []string
		for range 4 {
			n, err := b.Read(p)
			reads = append(reads, fmt.Sprint(string(p[:n]), err))
			if len(reads) == 1 {
				n, err := b.Read(nil)
				reads = append(reads, fmt.Sprint(n, err))
			}
			if len(reads) == 4 {
				break
			}
		}
		<-done
		say(reads)
		say(a.Close(), a.Close())
		for _, c := range []net.Conn{a, b} {
			for _, x := range pipeOps {
				say(x.do(c))
				say(x.set(c, time.Now()))
			}
		}
		say(b.Close())
		for _, x := range pipeOps {
			say(x.do(b))
		}
		return log
	}
	start(t, 1)
	got, want := fmt.Sprintf("%q", script(socket.Pipe())), fmt.Sprintf("%q", script(net.Pipe()))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPipeDoesNotAllocate: reads and writes of coroutines, once they have run.
func TestPipeDoesNotAllocate(t *testing.T) {
	start(t, 1)
	a, b := socket.Pipe()
	testrun.First.Do(t, func() {
		netco.GoLocal(func() { io.Copy(struct{ io.Writer }{b}, struct{ io.Reader }{b}) })
		p := make([]byte, 100)
		if n := testing.AllocsPerRun(200, func() {
			a.Write(p)
			if _, err := io.ReadFull(a, p); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
		a.Close()
	})
}
