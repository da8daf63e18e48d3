package load

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStreamRepeats(t *testing.T) {
	s := newStream()
	for i := range len(s) - streamPeriod {
		if s[i] != s[i+streamPeriod] {
			t.Fatalf("byte %d differs from byte %d", i, i+streamPeriod)
		}
	}
}

func listen(t *testing.T, serve func(net.Conn)) netip.AddrPort {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return ln.Addr().(*net.TCPAddr).AddrPort()
}

// The echo comes in pieces that match no message boundary.
func TestRunWithSplitEchoes(t *testing.T) {
	addr := listen(t, func(c net.Conn) {
		defer c.Close()
		buf := make([]byte, 37)
		_, _ = io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, buf)
	})
	for d := 100 * time.Millisecond; ; d *= 4 {
		l, err := Dial(t.Context(), Config{Addr: addr, Conns: 3, Size: 100, Pipeline: 5, Threads: 2,
			Duration: d, Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		r, err := l.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Requests > l.Completed() || r.Latency.Count() != r.Requests {
			t.Errorf("%d requests, %d latencies, %d completed in all", r.Requests,
				r.Latency.Count(), l.Completed())
		}
		select {
		case <-l.Warm():
		default:
			t.Error("the warm-up never ended")
		}
		// The window opens when the last thread has passed its warm-up, so it
		// may fall short of Duration by that much.
		if r.Requests > 0 && r.Elapsed >= d/2 {
			return
		}
		if d > 10*time.Second {
			t.Fatalf("%d requests in %v, which should have been %v", r.Requests, r.Elapsed, d)
		}
	}
}

func TestDialRefused(t *testing.T) {
	// It is bound and does not listen, and neither does another socket.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	local := netip.MustParseAddr("127.0.0.1")
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: local.As4()}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.AddrPortFrom(local, uint16(at.(*unix.SockaddrInet4).Port))
	_, err = Dial(t.Context(), Config{Addr: addr, Conns: 1, Size: 1, Pipeline: 1})
	var ce *ConnError
	if !errors.Is(err, unix.ECONNREFUSED) || !errors.As(err, &ce) {
		t.Errorf("dial a closed port: %v", err)
	}
}

func TestCancel(t *testing.T) {
	addr := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	l, err := Dial(t.Context(), Config{Addr: addr, Conns: 2, Size: 10, Pipeline: 1,
		Duration: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-l.Warm()
		cancel()
	}()
	if _, err := l.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Dial(ctx, l.cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("dial with a cancelled context: %v", err)
	}
}
