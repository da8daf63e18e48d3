package socket_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
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
