package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// unixName returns a path for a Unix socket, short enough for one.
func unixName(t testing.TB, name string) string {
	t.Helper()
	dir := testenv.Must(os.MkdirTemp("", "netco"))
	t.Cleanup(func() {
		os.RemoveAll(dir)
		blocking.Default().CloseIdle() // it makes files on coroutines' behalf
	})
	return filepath.Join(dir, name)
}

func unixAt(network, name string) *net.UnixAddr { return &net.UnixAddr{Name: name, Net: network} }

// listenUnix is ListenUnix on a new path.
func listenUnix(t testing.TB, network string) *socket.UnixListener {
	t.Helper()
	l := testenv.Closing(t, testenv.Must(socket.ListenUnix(network, unixAt(network, unixName(t, "s")))))
	return l
}

// unixPair returns the two ends of a connection; of unixgram the second one has
// dialled the first.
func unixPair(t testing.TB, network string) (a, b *socket.UnixConn) {
	t.Helper()
	var err error
	if network == "unixgram" {
		at := unixAt(network, unixName(t, "a"))
		if a, err = socket.ListenUnixgram(network, at); err == nil {
			b, err = socket.DialUnix(network, unixAt(network, unixName(t, "b")), at)
		}
	} else {
		l := listenUnix(t, network)
		defer l.Close()
		if b, err = socket.DialUnix(network, nil, l.Addr().(*net.UnixAddr)); err == nil {
			a, err = l.AcceptUnix()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// TestUnixStream: a large message comes and goes as over TCP, from every place
// to every place, and io.EOF comes at its end.
func TestUnixStream(t *testing.T) {
	const size = 3 << 20
	for _, from := range testrun.Places {
		for _, to := range testrun.Places {
			t.Run(from.Name+" to "+to.Name, func(t *testing.T) {
				start(t, 2)
				a, b := unixPair(t, "unix")
				writer := from.Go(func() {
					if n, err := a.Write(pattern(size)); n != size || err != nil {
						t.Errorf("Write: %d, %v", n, err)
					}
					if err := a.CloseWrite(); err != nil {
						t.Error(err)
					}
					if n, err := a.Read(make([]byte, 10)); n != 2 || err != nil {
						t.Errorf("the answer: %d, %v", n, err)
					}
				})
				to.Do(t, func() {
					got, err := io.ReadAll(b)
					if d := differs(got, 0); len(got) != size || d != "" || err != nil {
						t.Errorf("%d bytes, %v, %s", len(got), err, d)
					}
					b.Write([]byte("ok"))
				})
				writer.Wait(t)
			})
		}
	}
}

// TestUnixPackets: what is written as one is read as one, an empty packet and
// one of nearly the size of the send buffer included. One that is too large is
// refused and sends nothing. What does not fit the reader's buffer is dropped.
func TestUnixPackets(t *testing.T) {
	for _, network := range []string{"unixgram", "unixpacket"} {
		for _, p := range testrun.Places {
			t.Run(network+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				a, b := unixPair(t, network)
				sizes := []int{1, 2, 1000, sysx.MaxIO - 1, sysx.MaxIO, sysx.MaxIO + 1, 180_000, 3}
				if network == "unixgram" {
					sizes = append(sizes, 0, 1, 0)
				}
				sender := p.Go(func() {
					for _, n := range sizes {
						if w, err := b.Write(pattern(n)); w != n || err != nil {
							t.Errorf("Write of %d: %d, %v", n, w, err)
						}
						if n == 180_000 {
							if w, err := b.Write(make([]byte, 8<<20)); w != 0 || !errors.Is(err, unix.EMSGSIZE) {
								t.Errorf("Write of 8 MiB: %d, %v", w, err)
							}
						}
					}
					b.Write(pattern(100))
					b.Close()
				})
				buf := make([]byte, 1<<20)
				for _, want := range sizes {
					n, err := a.Read(buf)
					if n != want || err != nil || differs(buf[:n], 0) != "" {
						t.Fatalf("Read of %d: %d, %v", want, n, err)
					}
				}
				if n, err := a.Read(nil); n != 0 || err != nil {
					t.Errorf("an empty Read: %d, %v", n, err)
				}
				if n, err := a.Read(buf[:10]); n != 10 || err != nil {
					t.Errorf("a short Read: %d, %v", n, err)
				}
				sender.Wait(t)
				if network == "unixgram" {
					a.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
				}
				n, err := a.Read(buf)
				switch network {
				case "unixpacket":
					if n != 0 || err != io.EOF {
						t.Errorf("at the end: %d, %v", n, err)
					}
				case "unixgram":
					if n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("with no sender left: %d, %v", n, err)
					}
				}
			})
		}
	}
}

// TestUnixEmptySeqpacket: an empty packet and the end look the same to Read, as
// they do to net's.
func TestUnixEmptySeqpacket(t *testing.T) {
	start(t, 1)
	a, b := unixPair(t, "unixpacket")
	if n, err := b.Write(nil); n != 0 || err != nil {
		t.Errorf("Write: %d, %v", n, err)
	}
	if n, err := a.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read: %d, %v", n, err)
	}
}

// TestUnixFalseEnd: what a peer sent before it closed is read, though a read
// said that the end is there. The kernel does that when the peer writes and
// closes within the read; an empty packet in front has the same result every
// time.
func TestUnixFalseEnd(t *testing.T) {
	start(t, 1)
	reads := map[string]func(c *socket.UnixConn, p []byte) (int, error){
		"Read":         func(c *socket.UnixConn, p []byte) (int, error) { return c.Read(p) },
		"ReadFromUnix": func(c *socket.UnixConn, p []byte) (int, error) { n, _, err := c.ReadFromUnix(p); return n, err },
	}
	for name, read := range reads {
		a, b := unixPair(t, "unixpacket")
		for _, packet := range []string{"", "hello"} {
			if _, err := b.Write([]byte(packet)); err != nil {
				t.Error(err)
			}
		}
		b.Close()
		p := make([]byte, 10)
		if n, err := read(a, p); string(p[:n]) != "hello" || err != nil {
			t.Errorf("%s: %q, %v", name, p[:n], err)
		}
		if n, err := read(a, p); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s at the end: %d, %v", name, n, err)
		}
	}
}

// TestUnixDeadlineAndClose: reads that wait, and writes that find no room, end
// by deadline and by Close, with net's errors.
func TestUnixDeadlineAndClose(t *testing.T) {
	for _, network := range []string{"unix", "unixgram", "unixpacket"} {
		for _, p := range testrun.Places {
			t.Run(network+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				a, b := unixPair(t, network)
				oob := make([]byte, 100)
				for name, read := range map[string]func() error{
					"Read":        func() error { _, err := a.Read(make([]byte, 1)); return err },
					"ReadFrom":    func() error { _, _, err := a.ReadFrom(make([]byte, 1)); return err },
					"ReadMsgUnix": func() error { _, _, _, _, err := a.ReadMsgUnix(make([]byte, 1), oob); return err },
				} {
					a.SetReadDeadline(time.Now().Add(time.Millisecond))
					var err error
					p.Go(func() { err = read() }).Wait(t)
					var op *net.OpError
					if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "read" || !op.Timeout() {
						t.Errorf("%s: %v", name, err)
					}
				}
				a.SetReadDeadline(time.Time{})

				b.SetWriteDeadline(time.Now().Add(5 * time.Millisecond))
				p.Do(t, func() {
					for {
						_, err := b.Write(make([]byte, 10_000))
						if err == nil {
							continue
						}
						if !errors.Is(err, os.ErrDeadlineExceeded) {
							t.Errorf("Write: %v", err)
						}
						break
					}
					if _, _, err := b.WriteMsgUnix([]byte("x"), nil, nil); network != "unixgram" && !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("WriteMsgUnix: %v", err)
					}
				})

				c, _ := unixPair(t, network)
				reader := p.Go(func() {
					if _, _, err := c.ReadFrom(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
						t.Errorf("ReadFrom during Close: %v", err)
					}
				})
				reader.UntilParked(t, coroutine.ReasonRead)
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				reader.Wait(t)
				if err := c.Close(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("a second Close: %v", err)
				}
				if _, _, _, _, err := c.ReadMsgUnix(make([]byte, 1), nil); !errors.Is(err, net.ErrClosed) {
					t.Errorf("ReadMsgUnix: %v", err)
				}
				if _, _, err := c.WriteMsgUnix(make([]byte, 1), nil, nil); !errors.Is(err, net.ErrClosed) {
					t.Errorf("WriteMsgUnix: %v", err)
				}
			})
		}
	}
}

// TestUnixWritesWait: a writer that finds the queue full goes on when it is
// read, whether its peer is fixed or named with each packet. For the latter the
// kernel makes no event if the queue is full of others' packets.
func TestUnixWritesWait(t *testing.T) {
	for _, p := range testrun.Places {
		for _, named := range []bool{false, true} {
			t.Run(map[bool]string{false: "peer", true: "named"}[named]+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				at := unixAt("unixgram", unixName(t, "to"))
				to, err := socket.ListenUnixgram("unixgram", at)
				if err != nil {
					t.Fatal(err)
				}
				defer to.Close()
				filler := testenv.Closing(t, testenv.Must(net.DialUnix("unixgram", nil, at)))
				filled := 0
				rawOf(t, filler).Control(func(fd uintptr) {
					for ; unix.Sendto(int(fd), []byte("fill"), unix.MSG_DONTWAIT, nil) == nil; filled++ {
					}
				})
				var c *socket.UnixConn
				if named {
					c, err = socket.ListenUnixgram("unixgram", unixAt("unixgram", unixName(t, "from")))
				} else {
					c, err = socket.DialUnix("unixgram", nil, at)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				c.SetReadDeadline(time.Now().Add(time.Millisecond))
				s := new(script)
				defer s.install(t)()
				// it is registered from now on, so that no more edge comes of
				// that
				c.Read(make([]byte, 1))
				writer := p.Go(func() {
					if named {
						_, err = c.WriteToUnix([]byte("late"), at)
					} else {
						_, err = c.Write([]byte("late"))
					}
					if err != nil {
						t.Errorf("the write: %v", err)
					}
				})
				writer.UntilParked(t, coroutine.ReasonWrite)
				tries, began := s.called[sysx.Send].Load(), time.Now()
				// no more than it takes to see one that does not wait at all
				time.Sleep(50 * time.Millisecond)
				n := s.called[sysx.Send].Load() - tries
				if took := time.Since(began); n > 2*took.Milliseconds() {
					t.Errorf("%d attempts in %v", n, took)
				}
				to.SetReadDeadline(time.Now().Add(limit))
				buf := make([]byte, 10)
				for i := range filled + 1 {
					n, err := to.Read(buf)
					if want := map[bool]string{true: "late", false: "fill"}[i == filled]; string(buf[:n]) != want || err != nil {
						t.Fatalf("packet %d of %d: %q, %v", i, filled, buf[:n], err)
					}
				}
				writer.Wait(t)
			})
		}
	}
}

// TestUnixFDs: an open file goes over each kind of socket, with and without a
// payload, and arrives closed on exec.
func TestUnixFDs(t *testing.T) {
	for _, network := range []string{"unix", "unixgram", "unixpacket"} {
		for _, p := range testrun.Places {
			t.Run(network+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				a, b := unixPair(t, network)
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				defer w.Close()
				oob := make([]byte, syscall.CmsgSpace(4)+syscall.CmsgSpace(12))
				raw, _ := a.SyscallConn()
				raw.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
				for _, payload := range []string{"take this", ""} {
					reader := p.Go(func() {
						buf := make([]byte, 100)
						n, oobn, flags, _, err := a.ReadMsgUnix(buf[:len(payload)], oob)
						if payload == "" && network != "unixgram" {
							if n != 1 { // as with net: it is dropped
								t.Errorf("%d bytes for an empty buffer", n)
							}
							n = 0
						}
						if string(buf[:n]) != payload || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 || err != nil {
							t.Errorf("ReadMsgUnix: %q, %#x, %v", buf[:n], flags, err)
							return
						}
						fd, uid := takeRights(t, oob[:oobn])
						if uid != os.Getuid() {
							t.Errorf("it came from user %d", uid)
						}
						if flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); flags&unix.FD_CLOEXEC == 0 {
							t.Error("the fd is not closed on exec")
						}
						f := os.NewFile(uintptr(fd), "passed")
						f.Write([]byte("through"))
						f.Close()
					})
					reader.UntilParked(t, coroutine.ReasonRead)
					rights := unix.UnixRights(int(w.Fd()))
					var n, oobn int
					if network == "unixgram" {
						sender, lerr := socket.ListenUnixgram(network, unixAt(network, ""))
						if lerr != nil {
							t.Fatal(lerr)
						}
						defer sender.Close()
						n, oobn, err = sender.WriteMsgUnix([]byte(payload), rights, a.LocalAddr().(*net.UnixAddr))
					} else {
						n, oobn, err = b.WriteMsgUnix([]byte(payload), rights, nil)
					}
					if n != len(payload) || oobn != len(rights) || err != nil {
						t.Errorf("WriteMsgUnix: %d, %d, %v", n, oobn, err)
					}
					reader.Wait(t)
					got := make([]byte, 7)
					if _, err := io.ReadFull(r, got); string(got) != "through" || err != nil {
						t.Errorf("through the passed fd came %q, %v", got, err)
					}
				}
			})
		}
	}
}

// takeRights takes an fd and the sender's user out of ancillary data.
func takeRights(t *testing.T, oob []byte) (fd, uid int) {
	msgs := testenv.Must(unix.ParseSocketControlMessage(oob))
	fd, uid = -1, -1
	for _, m := range msgs {
		if fds, err := unix.ParseUnixRights(&m); err == nil && len(fds) == 1 {
			fd = fds[0]
		}
		if cred, err := unix.ParseUnixCredentials(&m); err == nil {
			uid = int(cred.Uid)
		}
	}
	if fd < 0 {
		t.Fatalf("no fd in %v", msgs)
	}
	return fd, uid
}

// TestUnixReadStopsAtFDs: a read that was not filled does not mean that a Unix
// stream is empty: it stops at data that came with an fd. The next must not
// wait for an event that has come already.
func TestUnixReadStopsAtFDs(t *testing.T) {
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			startLocked(t, 2)
			a, b := unixPair(t, "unix")
			reads := 0
			reader := p.Go(func() {
				a.SetReadDeadline(time.Now().Add(limit))
				var got []byte
				buf := make([]byte, 100)
				for ; len(got) < 3; reads++ {
					n, err := a.Read(buf)
					if err != nil {
						t.Error(err)
						return
					}
					got = append(got, buf[:n]...)
				}
			})
			reader.UntilParked(t, coroutine.ReasonRead)
			release := func() {}
			if p.Name == testrun.First.Name {
				release = hog(t, 0) // the three arrive under one event
			}
			rights := unix.UnixRights(2)
			for range 3 {
				if _, _, err := b.WriteMsgUnix([]byte("x"), rights, nil); err != nil {
					t.Error(err)
				}
			}
			release()
			reader.Wait(t)
			if reads != 3 {
				t.Errorf("%d reads: the kernel does not stop at fds, and this tests nothing", reads)
			}
		})
	}
}

// TestUnixAddresses: every address a socket or packet has is what net's has.
func TestUnixAddresses(t *testing.T) {
	start(t, 1)
	type ends struct{ local, remote, from net.Addr }
	show := func(a net.Addr) string {
		if u, ok := a.(*net.UnixAddr); ok {
			return "UnixAddr " + u.Net + " " + u.Name
		}
		if a != nil {
			return "no UnixAddr"
		}
		return "nil"
	}
	packet := func(write func([]byte) (int, error), read func([]byte) (int, net.Addr, error)) net.Addr {
		if _, err := write([]byte("x")); err != nil {
			t.Error(err)
		}
		_, from, err := read(make([]byte, 1))
		if err != nil {
			t.Error(err)
		}
		return from
	}
	path, from := unixName(t, "s"), unixName(t, "c")
	for _, network := range []string{"unix", "unixpacket"} {
		for _, name := range []string{path, "@netco-test-" + filepath.Base(filepath.Dir(path))} {
			for _, laddr := range []*net.UnixAddr{nil, unixAt(network, from), unixAt(network, name+"-c"), unixAt(network, "")} {
				ours := func() []ends {
					l := testenv.Must(socket.ListenUnix(network, unixAt(network, name)))
					defer l.Close()
					c := testenv.Must(socket.DialUnix(network, laddr, l.Addr().(*net.UnixAddr)))
					defer c.Close()
					s := testenv.Must(l.Accept())
					defer s.Close()
					return []ends{{l.Addr(), nil, nil}, {c.LocalAddr(), c.RemoteAddr(), nil},
						{s.LocalAddr(), s.RemoteAddr(), packet(c.Write, s.(*socket.UnixConn).ReadFrom)}}
				}()
				removeSocket(laddr)
				theirs := func() []ends {
					l := testenv.Must(net.ListenUnix(network, unixAt(network, name)))
					defer l.Close()
					c := testenv.Must(net.DialUnix(network, laddr, l.Addr().(*net.UnixAddr)))
					defer c.Close()
					s := testenv.Must(l.Accept())
					defer s.Close()
					return []ends{{l.Addr(), nil, nil}, {c.LocalAddr(), c.RemoteAddr(), nil},
						{s.LocalAddr(), s.RemoteAddr(), packet(c.Write, s.(*net.UnixConn).ReadFrom)}}
				}()
				removeSocket(laddr)
				for i := range ours {
					o, n := ours[i], theirs[i]
					if show(o.local) != show(n.local) || show(o.remote) != show(n.remote) || show(o.from) != show(n.from) {
						t.Errorf("%s, %v, end %d:\ngot  %s, %s, %s\nwant %s, %s, %s", network, laddr, i,
							show(o.local), show(o.remote), show(o.from), show(n.local), show(n.remote), show(n.from))
					}
				}
			}
		}
	}
	for _, laddr := range []*net.UnixAddr{nil, unixAt("unixgram", from)} {
		ours := func() ends {
			to := testenv.Must(socket.ListenUnixgram("unixgram", unixAt("unixgram", path)))
			defer to.Close()
			c := testenv.Must(socket.DialUnix("unixgram", laddr, to.LocalAddr().(*net.UnixAddr)))
			defer c.Close()
			if to.RemoteAddr() != nil {
				t.Errorf("a datagram socket without a peer has %v", to.RemoteAddr())
			}
			return ends{c.LocalAddr(), c.RemoteAddr(), packet(c.Write, to.ReadFrom)}
		}()
		os.Remove(path)
		removeSocket(laddr)
		theirs := func() ends {
			to := testenv.Must(net.ListenUnixgram("unixgram", unixAt("unixgram", path)))
			defer to.Close()
			c := testenv.Must(net.DialUnix("unixgram", laddr, to.LocalAddr().(*net.UnixAddr)))
			defer c.Close()
			return ends{c.LocalAddr(), c.RemoteAddr(), packet(c.Write, to.ReadFrom)}
		}()
		os.Remove(path)
		removeSocket(laddr)
		if show(ours.local) != show(theirs.local) || show(ours.remote) != show(theirs.remote) || show(ours.from) != show(theirs.from) {
			t.Errorf("unixgram from %v: got %+v, want %+v", laddr, ours, theirs)
		}
	}
}

func removeSocket(a *net.UnixAddr) {
	if a != nil {
		os.Remove(a.Name)
	}
}

// TestUnixBurst: a coroutine whose packets come and go at once lets others of
// its Processor run.
func TestUnixBurst(t *testing.T) {
	start(t, 1)
	a, b := unixPair(t, "unixgram")
	stop := false // of Processor 0's coroutines
	busy := testrun.First.Go(func() {
		buf := make([]byte, 64)
		for !stop {
			if _, err := b.Write(buf[:8]); err != nil {
				t.Error(err)
				return
			}
			if n, _, err := a.ReadFrom(buf); n != 8 || err != nil {
				t.Error(n, err)
				return
			}
		}
	})
	testrun.First.Go(func() { stop = true }).Wait(t)
	busy.Wait(t)
}

// TestUnixNoAllocation: a datagram that has no sender's name allocates nothing.
func TestUnixNoAllocation(t *testing.T) {
	start(t, 1)
	a := testenv.Closing(t, testenv.Must(socket.ListenUnixgram("unixgram", unixAt("unixgram", ""))))
	b := testenv.Closing(t, testenv.Must(socket.DialUnix("unixgram", nil, a.LocalAddr().(*net.UnixAddr))))
	msg, buf := bytes.Repeat([]byte("x"), 100), make([]byte, 200)
	if n := testing.AllocsPerRun(100, func() {
		b.Write(msg)
		if n, _, err := a.ReadFromUnix(buf); n != len(msg) || err != nil {
			t.Error(n, err)
		}
		b.Write(msg)
		if n, err := a.Read(buf); n != len(msg) || err != nil {
			t.Error(n, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestUnixEOFAsNet: every method that reads reports the end of a connection in
// the form that package net of the running release has for it. Go 1.27 changed
// that of ReadFrom, ReadFromUnix and ReadMsgUnix from an *OpError to a bare
// io.EOF, and these still returned the *OpError.
func TestUnixEOFAsNet(t *testing.T) {
	start(t, 2)
	reads := []struct {
		name string
		read func(c unixIO) error
	}{
		{"Read", func(c unixIO) error { _, err := c.Read(make([]byte, 1)); return err }},
		{"ReadFrom", func(c unixIO) error { _, _, err := c.ReadFrom(make([]byte, 1)); return err }},
		{"ReadFromUnix", func(c unixIO) error { _, _, err := c.ReadFromUnix(make([]byte, 1)); return err }},
		{"ReadMsgUnix", func(c unixIO) error {
			_, _, _, _, err := c.ReadMsgUnix(make([]byte, 1), make([]byte, 64))
			return err
		}},
	}
	for _, network := range []string{"unix", "unixpacket"} {
		at := unixAt(network, unixName(t, "s"))
		nl := testenv.Closing(t, testenv.Must(net.ListenUnix(network, at)))
		ended := func(dial func() (unixIO, error)) unixIO { // a connection whose peer has closed
			c := testenv.Closing(t, testenv.Must(dial()))
			peer := testenv.Must(nl.Accept())
			peer.Close()
			return c
		}
		theirs := ended(func() (unixIO, error) { return net.DialUnix(network, nil, at) })
		ours := ended(func() (unixIO, error) { return socket.DialUnix(network, nil, at) })
		for _, r := range reads {
			want := r.read(theirs)
			for _, p := range testrun.Places {
				p.Do(t, func() {
					got := r.read(ours)
					if !errors.Is(got, io.EOF) || (got == io.EOF) != (want == io.EOF) || fmt.Sprintf("%T", got) != fmt.Sprintf("%T", want) {
						t.Errorf("%s of %s in a %s: %T %v, want %T %v", r.name, network, p.Name, got, got, want, want)
					}
				})
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestUnixUnlink: the file is removed when net would remove it, once, and
// whoever made another there in the meantime keeps that.
func TestUnixUnlink(t *testing.T) {
	start(t, 2)
	for _, p := range testrun.Places {
		p.Do(t, func() {
			path := unixName(t, "s")
			l, err := socket.Listen("unix", path)
			if err != nil {
				t.Error(err)
				return
			}
			if !exists(path) {
				t.Error("there is no file while it listens: the borrowed socket's end took it")
			}
			c, err := socket.Dial("unix", path)
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
			if exists(path) {
				f, err := l.(*socket.UnixListener).File()
				if err != nil {
					t.Error(err)
					return
				}
				adopted, err := socket.FileListener(f)
				f.Close()
				if err != nil {
					t.Error(err)
					return
				}
				adopted.Close()
				if !exists(path) {
					t.Error("the end of a FileListener removed the file")
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if exists(path) {
				t.Error("the file is still there after Close")
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Error(err)
			}
			if err := l.Close(); !errors.Is(err, net.ErrClosed) || !exists(path) {
				t.Errorf("a second Close: %v; the new file is there: %v", err, exists(path))
			}
			os.Remove(path)

			kept, err := socket.ListenUnix("unixpacket", unixAt("unixpacket", path))
			if err != nil {
				t.Error(err)
				return
			}
			kept.SetUnlinkOnClose(false)
			kept.Close()
			if !exists(path) {
				t.Error("SetUnlinkOnClose(false) did not keep the file")
			}
			os.Remove(path)
			gram, err := socket.ListenPacket("unixgram", path)
			if err != nil {
				t.Error(err)
				return
			}
			gram.Close()
			if !exists(path) {
				t.Error("a datagram socket removed its file, unlike net's")
			}
		})
	}
}

// TestUnixAccept: several coroutines and goroutines accept from one listener,
// by path and by abstract name; deadline and Close end them.
func TestUnixAccept(t *testing.T) {
	for _, network := range []string{"unix", "unixpacket"} {
		for _, abstract := range []bool{false, true} {
			testUnixAccept(t, network, abstract)
		}
	}
}

func testUnixAccept(t *testing.T, network string, abstract bool) {
	t.Run(fmt.Sprintf("%s, abstract %v", network, abstract), func(t *testing.T) {
		start(t, 2)
		name := unixName(t, "s")
		if abstract {
			name = "@" + name
		}
		l := testenv.Must(socket.ListenUnix(network, unixAt(network, name)))
		if l.Addr().String() != name || l.Addr().Network() != network || exists(name) == abstract {
			t.Errorf("it listens on %v", l.Addr())
		}
		l.SetDeadline(time.Now().Add(time.Millisecond))
		var op *net.OpError
		if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "accept" {
			t.Errorf("Accept under a deadline: %v", err)
		}
		l.SetDeadline(time.Time{})
		var tasks []*testrun.Task
		for _, p := range testrun.Places {
			tasks = append(tasks, p.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						if !errors.Is(err, net.ErrClosed) {
							t.Error(err)
						}
						return
					}
					c.Write([]byte("hello"))
					c.Close()
				}
			}))
		}
		for range 100 {
			c := testenv.Must(socket.Dial(network, name))
			c.SetDeadline(time.Now().Add(limit))
			b := make([]byte, 10)
			if n, err := c.Read(b); string(b[:n]) != "hello" || err != nil {
				t.Fatalf("%q, %v", b[:n], err)
			}
			c.Close()
		}
		l.Close()
		testrun.WaitAll(t, tasks...)
	})
}

// TestUnixListenWithoutFDs: every fd that listening takes may be the one that
// is not there any more. Nothing stays open, and no file is left.
func TestUnixListenWithoutFDs(t *testing.T) {
	path := unixName(t, "s")
	start(t, 1)
	if l, err := socket.Listen("unix", path); err == nil { // what is made once is made
		l.Close()
	}
	var lim unix.Rlimit
	testenv.OK(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &lim))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &lim)
	before := testenv.Files()
	refused := 0
	for _, network := range []string{"unix", "unixgram"} {
		for spare := range 4 {
			var holes []int // free numbers below the highest fd count as spare too
			limited := lim
			for limited.Cur = 0; ; {
				fd := testenv.Must(unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0))
				holes = append(holes, fd)
				if fd >= before {
					limited.Cur = uint64(fd + 1)
					break
				}
			}
			for range min(spare, len(holes)) {
				unix.Close(holes[len(holes)-1])
				holes = holes[:len(holes)-1]
			}
			unix.Setrlimit(unix.RLIMIT_NOFILE, &limited)
			var c closer
			var err error
			if network == "unix" {
				c, err = opened(socket.ListenUnix(network, unixAt(network, path)))
			} else {
				c, err = opened(socket.ListenUnixgram(network, unixAt(network, path)))
			}
			unix.Setrlimit(unix.RLIMIT_NOFILE, &lim)
			if err != nil {
				refused++
				if !errors.Is(err, unix.EMFILE) {
					t.Errorf("%s with %d to spare: %v", network, spare, err)
				}
				if network == "unix" && exists(path) {
					t.Errorf("%s with %d to spare: the file is left", network, spare)
				}
			} else {
				c.Close()
			}
			os.Remove(path)
			for _, fd := range holes {
				unix.Close(fd)
			}
			// fewer, if a collection has closed what an earlier test lost
			if n := testenv.Files(); n > before {
				t.Errorf("%s with %d to spare: %d fds, before %d", network, spare, n, before)
			}
		}
	}
	if refused < 3 {
		t.Errorf("only %d were refused: this tests less than it should", refused)
	}
}

// closer is what a call under test may have opened.
type closer interface{ Close() error }

// withNet calls ours and net's and compares their errors. What they opened is
// closed, and path removed after each.
func withNet(t *testing.T, what, path string, ours, theirs func() (closer, error)) {
	t.Helper()
	try := func(f func() (closer, error)) error {
		c, err := f()
		if err == nil {
			c.Close()
		}
		if path != "" {
			os.Remove(path)
		}
		return err
	}
	same(t, what, try(ours), try(theirs))
}

// opened avoids a closer that is not nil and holds nil.
func opened[T closer](c T, err error) (closer, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// TestUnixErrors holds the errors of all that listens and dials against net's.
func TestUnixErrors(t *testing.T) {
	start(t, 2)
	taken := unixName(t, "taken")
	testenv.Closing(t, testenv.Must(net.Listen("unix", taken)))
	dir := filepath.Dir(taken)
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	stale := filepath.Join(dir, "stale") // a socket nobody listens on any more
	old := testenv.Must(net.ListenUnix("unix", unixAt("unix", stale)))
	old.SetUnlinkOnClose(false)
	old.Close()
	gram := filepath.Join(dir, "gram")
	testenv.Closing(t, testenv.Must(net.ListenPacket("unixgram", gram)))
	mine := map[string]bool{taken: true, stale: true, gram: true, filepath.Join(dir, "file"): true}
	names := []string{
		"", "@", "@\x00", "\x00netco-test", "@netco-no-such-name", taken, stale, gram, dir, filepath.Join(dir, "file"),
		filepath.Join(dir, "none"), filepath.Join(dir, "no", "such", "folder"), filepath.Join(dir, "file", "below"),
		strings.Repeat("x", 107), strings.Repeat("x", 108), strings.Repeat("x", 109), strings.Repeat("x", 1000),
		"@" + strings.Repeat("x", 107), "@" + strings.Repeat("x", 108), "with\x00nul", "/proc/netco-test",
	}
	t.Chdir(dir) // for the relative ones
	for _, p := range testrun.Places {
		p.Do(t, func() {
			for _, network := range []string{"unix", "unixpacket", "unixgram", "unixx", "tcp", ""} {
				for _, name := range names {
					at, from := unixAt(network, name), unixAt(network, filepath.Join(dir, "from"))
					path, _, _ := strings.Cut(name, "\x00")
					if mine[name] {
						path = ""
					}
					what := func(f string) string { return fmt.Sprintf("%s: %s(%s, %.120q)", p.Name, f, network, name) }
					withNet(t, what("ListenUnix"), path,
						func() (closer, error) { return opened(socket.ListenUnix(network, at)) },
						func() (closer, error) { return opened(net.ListenUnix(network, at)) })
					withNet(t, what("ListenUnixgram"), path,
						func() (closer, error) { return opened(socket.ListenUnixgram(network, at)) },
						func() (closer, error) { return opened(net.ListenUnixgram(network, at)) })
					withNet(t, what("DialUnix"), "",
						func() (closer, error) { return opened(socket.DialUnix(network, nil, at)) },
						func() (closer, error) { return opened(net.DialUnix(network, nil, at)) })
					withNet(t, what("DialUnix from"), from.Name,
						func() (closer, error) { return opened(socket.DialUnix(network, from, at)) },
						func() (closer, error) { return opened(net.DialUnix(network, from, at)) })
					withNet(t, what("DialUnix to taken from"), path,
						func() (closer, error) { return opened(socket.DialUnix(network, at, unixAt(network, taken))) },
						func() (closer, error) { return opened(net.DialUnix(network, at, unixAt(network, taken))) })
					if network == "unix" || network == "unixpacket" || network == "unixgram" {
						withNet(t, what("Dial"), "",
							func() (closer, error) { return opened(socket.Dial(network, name)) },
							func() (closer, error) { return opened(net.Dial(network, name)) })
					}
					// What net makes of a stream that is to be a
					// net.PacketConn, or of packets that are to be a
					// net.Listener, is of no use.
					switch network {
					case "unix", "unixpacket":
						withNet(t, what("Listen"), path,
							func() (closer, error) { return opened(socket.Listen(network, name)) },
							func() (closer, error) { return opened(net.Listen(network, name)) })
					case "unixgram":
						withNet(t, what("ListenPacket"), path,
							func() (closer, error) { return opened(socket.ListenPacket(network, name)) },
							func() (closer, error) { return opened(net.ListenPacket(network, name)) })
					}
				}
				withNet(t, p.Name+": nil addresses of "+network, "",
					func() (closer, error) { return opened(socket.ListenUnix(network, nil)) },
					func() (closer, error) { return opened(net.ListenUnix(network, nil)) })
				withNet(t, p.Name+": nil addresses of "+network, "",
					func() (closer, error) { return opened(socket.ListenUnixgram(network, nil)) },
					func() (closer, error) { return opened(net.ListenUnixgram(network, nil)) })
				withNet(t, p.Name+": nil addresses of "+network, "",
					func() (closer, error) { return opened(socket.DialUnix(network, nil, nil)) },
					func() (closer, error) { return opened(net.DialUnix(network, nil, nil)) })
			}
		})
	}
}

// unixIO is what both UnixConns have.
type unixIO interface {
	net.Conn
	net.PacketConn
	ReadFromUnix(p []byte) (int, *net.UnixAddr, error)
	ReadMsgUnix(p, oob []byte) (n, oobn, flags int, addr *net.UnixAddr, err error)
	WriteToUnix(p []byte, addr *net.UnixAddr) (int, error)
	WriteMsgUnix(p, oob []byte, addr *net.UnixAddr) (n, oobn int, err error)
	CloseRead() error
	CloseWrite() error
	File() (*os.File, error)
	SyscallConn() (syscall.RawConn, error)
	SetReadBuffer(int) error
	SetWriteBuffer(int) error
}

// TestUnixIOErrors holds the errors of reads and writes against net's: on both
// ends of each kind of connection, on a socket without a peer, after the peer
// has gone, and after Close.
func TestUnixIOErrors(t *testing.T) {
	start(t, 2)
	dir := filepath.Dir(unixName(t, "x"))
	t.Chdir(dir)
	type pair struct{ dialled, other unixIO }
	ours := func(network string) (p pair) {
		at := unixAt(network, "s")
		var err error
		if network == "unixgram" {
			if p.other, err = socket.ListenUnixgram(network, at); err == nil {
				p.dialled, err = socket.DialUnix(network, nil, at)
			}
		} else {
			l, lerr := socket.ListenUnix(network, at)
			if lerr != nil {
				t.Fatal(lerr)
			}
			defer l.Close()
			if p.dialled, err = socket.DialUnix(network, nil, at); err == nil {
				p.other, err = l.AcceptUnix()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	theirs := func(network string) (p pair) {
		at := unixAt(network, "s")
		var err error
		if network == "unixgram" {
			if p.other, err = net.ListenUnixgram(network, at); err == nil {
				p.dialled, err = net.DialUnix(network, nil, at)
			}
		} else {
			l, lerr := net.ListenUnix(network, at)
			if lerr != nil {
				t.Fatal(lerr)
			}
			defer l.Close()
			if p.dialled, err = net.DialUnix(network, nil, at); err == nil {
				p.other, err = l.AcceptUnix()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	// probe tries everything.
	probe := func(network string, p pair) (errs []error) {
		add := func(err error) { errs = append(errs, err) }
		rights := unix.UnixRights(2)
		writes := func(c unixIO) {
			for _, to := range []*net.UnixAddr{nil, unixAt(network, "s"), unixAt(network, "none"), unixAt("unixx", "s"),
				unixAt(network, ""), unixAt(network, strings.Repeat("x", 200))} {
				_, err := c.WriteToUnix([]byte("x"), to)
				add(err)
				_, _, err = c.WriteMsgUnix([]byte("x"), nil, to)
				add(err)
				if network == "unix" {
					_, _, err = c.WriteMsgUnix(nil, rights, to)
					add(err)
				}
			}
			_, err := c.WriteTo([]byte("x"), &net.UDPAddr{})
			add(err)
			_, err = c.WriteTo([]byte("x"), nil)
			add(err)
			_, err = c.Write(make([]byte, 1<<20)[:0])
			add(err)
			if network != "unix" {
				_, err = c.Write(make([]byte, 16<<20))
				add(err)
				_, _, err = c.WriteMsgUnix(make([]byte, 16<<20), nil, nil)
				add(err)
			}
			_, _, err = c.WriteMsgUnix([]byte("x"), []byte("not ancillary data"), nil)
			add(err)
		}
		reads := func(c unixIO) {
			soon := func() { // what has come must be read however late this thread is
				c.SetReadDeadline(time.Now().Add(limit))
				if emptyUnix(c) { // a datagram socket waits on
					c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
				}
			}
			soon()
			_, _, err := c.ReadFrom(make([]byte, 1))
			add(err)
			soon()
			_, _, _, _, err = c.ReadMsgUnix(make([]byte, 1), make([]byte, 100))
			add(err)
			soon()
			_, err = c.Read(make([]byte, 1))
			add(err)
		}
		writes(p.dialled)
		writes(p.other)
		add(p.dialled.CloseRead())
		add(p.dialled.CloseWrite())
		add(p.other.CloseRead())
		add(p.other.CloseRead())
		add(p.other.SetReadBuffer(-1))
		add(p.other.SetWriteBuffer(4096))
		drainUnix(p.dialled)
		reads(p.dialled)
		writes(p.dialled)
		add(p.dialled.Close())
		add(p.dialled.Close())
		writes(p.other)
		drainUnix(p.other)
		reads(p.other)
		add(p.other.Close())
		for _, c := range []unixIO{p.dialled, p.other} {
			reads(c)
			writes(c)
			add(c.CloseRead())
			add(c.CloseWrite())
			_, err := c.File()
			add(err)
			raw, err := c.SyscallConn()
			add(err)
			add(raw.Control(func(uintptr) {}))
			add(raw.Read(func(uintptr) bool { return true }))
			add(raw.Write(func(uintptr) bool { return true }))
			add(c.SetReadBuffer(4096))
			_, err = c.Read(nil)
			add(err)
		}
		return errs
	}
	for _, network := range []string{"unix", "unixpacket", "unixgram"} {
		want := probe(network, theirs(network))
		os.Remove("s")
		for _, p := range testrun.Places {
			p.Do(t, func() {
				got := probe(network, ours(network))
				for i := range want {
					same(t, fmt.Sprintf("%s, %s, %d", p.Name, network, i), got[i], want[i])
				}
			})
			os.Remove("s")
		}
	}
}

// emptyUnix reports whether a read would find nothing, not even an end.
func emptyUnix(c unixIO) (empty bool) {
	raw, _ := c.SyscallConn()
	raw.Control(func(fd uintptr) {
		_, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_DONTWAIT|unix.MSG_PEEK)
		empty = err == unix.EAGAIN
	})
	return empty
}

// drainUnix reads what has come, if anything.
func drainUnix(c unixIO) {
	raw, _ := c.SyscallConn()
	raw.Read(func(fd uintptr) bool {
		for {
			n, _, err := unix.Recvfrom(int(fd), make([]byte, 1<<20), unix.MSG_DONTWAIT)
			if n <= 0 || err != nil {
				return true
			}
		}
	})
}

// TestUnixBacklog: a listener whose queue is full refuses at once, as with net.
func TestUnixBacklog(t *testing.T) {
	start(t, 2)
	for _, kind := range []struct {
		network string
		typ     int
	}{{"unix", unix.SOCK_STREAM}, {"unixpacket", unix.SOCK_SEQPACKET}} {
		fd := testenv.Must(unix.Socket(unix.AF_UNIX, kind.typ|unix.SOCK_CLOEXEC, 0))
		defer unix.Close(fd)
		name := unixName(t, "s")
		testenv.OK(t, unix.Bind(fd, &unix.SockaddrUnix{Name: name}))
		testenv.OK(t, unix.Listen(fd, 0))
		for {
			c, want := net.Dial(kind.network, name)
			if want == nil {
				defer c.Close()
				continue
			}
			for _, p := range testrun.Places {
				p.Do(t, func() {
					_, err := socket.Dial(kind.network, name)
					same(t, p.Name, err, want)
				})
			}
			break
		}
	}
}

// TestUnixFaults: what keeps a socket from being made or connected is returned
// as by net and leaves nothing open.
func TestUnixFaults(t *testing.T) {
	start(t, 2)
	for _, network := range []string{"unix", "unixpacket", "unixgram"} {
		a, _ := unixPair(t, "unix") // so that Go's poller is there before the count
		a.Close()
		for _, c := range []struct {
			op    sysx.Op
			errno syscall.Errno
			call  string
		}{
			{sysx.Socket, unix.EMFILE, "socket"},
			{sysx.Socket, unix.ENFILE, "socket"},
			{sysx.Connect, unix.ECONNREFUSED, "connect"},
			{sysx.Connect, unix.EAGAIN, "connect"},
		} {
			for _, p := range testrun.Places {
				p.Do(t, func() {
					defer (&script{first: map[sysx.Op][]syscall.Errno{c.op: {c.errno}}}).install(t)()
					open, fds := socket.Open(), testenv.Files()
					_, err := socket.DialUnix(network, nil, unixAt(network, "/none"))
					want := "dial " + network + " /none: " + c.call + ": " + c.errno.Error()
					if err == nil || err.Error() != want {
						t.Errorf("%s: %v, want %s", p.Name, err, want)
					}
					if n, f := socket.Open(), testenv.Files(); n != open || f > fds {
						t.Errorf("%d sockets and %d fds open, before %d and %d", n, f, open, fds)
					}
				})
			}
		}
	}
}
