package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

func unixAt(network, name string) *net.UnixAddr { return &net.UnixAddr{Name: name, Net: network} }

// abstractName returns an address for a Unix socket that needs no file.
func abstractName() string { return fmt.Sprint("@netco", os.Getpid(), "-", abstractNames.Add(1)) }

var abstractNames atomic.Int64

// listenUnix is ListenUnix on a new path.
func listenUnix(t testing.TB, network string) *socket.UnixListener {
	t.Helper()
	return testenv.Closing(t,
		testenv.Must(conet.ListenUnix(network, unixAt(network, testenv.SocketPath(t, "s")))))
}

// unixPair returns the two ends of a connection; of unixgram the second one has
// dialled the first.
func unixPair(t testing.TB, network string) (a, b *socket.UnixConn) {
	t.Helper()
	var err error
	if network == "unixgram" {
		at := unixAt(network, abstractName())
		if a, err = conet.ListenUnixgram(network, at); err == nil {
			b, err = conet.DialUnix(network, unixAt(network, abstractName()), at)
		}
	} else {
		l := testenv.Must(conet.ListenUnix(network, unixAt(network, abstractName())))
		defer l.Close()
		if b, err = conet.DialUnix(network, nil, l.Addr().(*net.UnixAddr)); err == nil {
			a, err = l.AcceptUnix()
		}
	}
	testenv.OK(t, err)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// TestUnixPackets: a packet is read whole, an empty packet and one of nearly
// the size of the send buffer included. A packet that is too large is refused
// and sends nothing. Bytes that do not fit the reader's buffer are dropped.
func TestUnixPackets(t *testing.T) {
	for _, network := range []string{"unixgram", "unixpacket"} {
		inPlacesOf(t, network, func(t *testing.T, p testrun.Place) {
			a, b := unixPair(t, network)
			sizes := []int{1, 2, 1000, sysx.MaxIO - 1, sysx.MaxIO, sysx.MaxIO + 1, 180_000, 3}
			if network == "unixgram" {
				sizes = append(sizes, 0, 1, 0)
			}
			sender := p.Go(func() {
				for _, n := range sizes {
					testenv.Gives(t, n, nil, "Write of")(b.Write(pattern(n)))
					if n == 180_000 {
						testenv.Gives(t, 0, unix.EMSGSIZE,
							"Write of 8 MiB")(b.Write(make([]byte, 8<<20)))
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
			testenv.Gives(t, 0, nil, "an empty Read")(a.Read(nil))
			testenv.Gives(t, 10, nil, "a short Read")(a.Read(buf[:10]))
			sender.Wait(t)
			if network == "unixgram" {
				a.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			}
			end := map[string]error{"unixpacket": io.EOF, "unixgram": os.ErrDeadlineExceeded}
			testenv.Gives(t, 0, end[network], "at the end")(a.Read(buf))
		})
	}
}

// TestUnixFalseEnd: packets that a peer sent before it closed are read, though
// a read said that the end is there. The kernel does that when the peer writes
// and closes within the read; an empty packet in front has the same result
// every time. Alone an empty packet is the end, as with net.
func TestUnixFalseEnd(t *testing.T) {
	start(t, 1)
	reads := map[string]func(c *socket.UnixConn, p []byte) (int, error){
		"Read": func(c *socket.UnixConn, p []byte) (int, error) { return c.Read(p) },
		"ReadFromUnix": func(c *socket.UnixConn, p []byte) (int, error) {
			n, _, err := c.ReadFromUnix(p)
			return n, err
		},
	}
	for name, read := range reads {
		a, b := unixPair(t, "unixpacket")
		for _, packet := range []string{"", "hello"} {
			testenv.NoError(t, testenv.Err(b.Write([]byte(packet))))
		}
		b.Close()
		p := make([]byte, 10)
		n, err := read(a, p)
		testenv.Gives(t, "hello", nil, name)(string(p[:n]), err)
		ends := func(c *socket.UnixConn, what string) {
			n, err := read(c, p)
			testenv.True(t, n == 0 && errors.Is(err, io.EOF), "%s %s: %d, %v", name, what, n, err)
		}
		ends(a, "at the end")
		c, d := unixPair(t, "unixpacket")
		testenv.Gives(t, 0, nil, "Write")(d.Write(nil))
		ends(c, "of an empty packet")
	}
}

// TestUnixWritesWait: a writer that finds the queue full goes on when the queue
// is read, whether its peer is fixed or named with each packet. For a named
// peer the kernel makes no event if the queue is full of others' packets.
func TestUnixWritesWait(t *testing.T) {
	for _, p := range testrun.Places {
		for _, named := range []bool{false, true} {
			t.Run(map[bool]string{false: "peer", true: "named"}[named]+"/"+p.Name,
				func(t *testing.T) { writeWaits(t, p, named) })
		}
	}
}

// writeWaits writes to a peer whose queue is full, by its name or not.
func writeWaits(t *testing.T, p testrun.Place, named bool) {
	start(t, 2)
	at := unixAt("unixgram", testenv.SocketPath(t, "to"))
	to := testenv.Must(conet.ListenUnixgram("unixgram", at))
	defer to.Close()
	filler := testenv.Closing(t, testenv.Must(net.DialUnix("unixgram", nil, at)))
	filled := 0
	fd := rawFD(filler)
	for ; unix.Sendto(fd, []byte("fill"), unix.MSG_DONTWAIT, nil) == nil; filled++ {
	}
	var c *socket.UnixConn
	var err error
	if named {
		c, err = conet.ListenUnixgram("unixgram", unixAt("unixgram", testenv.SocketPath(t, "from")))
	} else {
		c, err = conet.DialUnix("unixgram", nil, at)
	}
	testenv.OK(t, err)
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(time.Millisecond))
	s := new(script)
	defer s.install(t)()
	// registers the socket, so no more edge comes of that
	c.Read(make([]byte, 1))
	writer := p.Park(t, coroutine.ReasonWrite, func() {
		if named {
			_, err = c.WriteToUnix([]byte("late"), at)
		} else {
			_, err = c.Write([]byte("late"))
		}
		testenv.True(t, err == nil, "the write: %v", err)
	})
	tries, began := s.called[sysx.Send].Load(), time.Now()
	// long enough to see a Write that does not wait at all
	time.Sleep(50 * time.Millisecond)
	n := s.called[sysx.Send].Load() - tries
	if took := time.Since(began); n > 2*took.Milliseconds() {
		t.Errorf("%d attempts in %v", n, took)
	}
	to.SetReadDeadline(time.Now().Add(limit))
	for i := range filled {
		readsText(t, to, "fill", "packet", i)
	}
	readsText(t, to, "late")
	writer.Wait(t)
}

// TestUnixFDs: an open file goes over each kind of socket, with and without a
// payload, and arrives closed on exec.
func TestUnixFDs(t *testing.T) {
	for _, network := range []string{"unix", "unixgram", "unixpacket"} {
		for _, p := range testrun.Places {
			t.Run(network+"/"+p.Name, func(t *testing.T) { passFDs(t, p, network) })
		}
	}
}

// passFDs passes the end of a pipe from one Unix socket to another.
func passFDs(t *testing.T, p testrun.Place, network string) {
	start(t, 2)
	a, b := unixPair(t, network)
	r, w, err := os.Pipe()
	testenv.OK(t, err)
	defer r.Close()
	defer w.Close()
	oob := make([]byte, syscall.CmsgSpace(4)+syscall.CmsgSpace(12))
	raw, _ := a.SyscallConn()
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	})
	for _, payload := range []string{"take this", ""} {
		reader := p.Park(t, coroutine.ReasonRead, func() { takeFD(t, a, network, payload, oob) })
		rights := unix.UnixRights(int(w.Fd()))
		var n, oobn int
		if network == "unixgram" {
			sender, lerr := conet.ListenUnixgram(network, unixAt(network, ""))
			if lerr != nil {
				t.Fatal(lerr)
			}
			defer sender.Close()
			n, oobn, err = sender.WriteMsgUnix([]byte(payload), rights,
				a.LocalAddr().(*net.UnixAddr))
		} else {
			n, oobn, err = b.WriteMsgUnix([]byte(payload), rights, nil)
		}
		testenv.True(t, n == len(payload) && oobn == len(rights) && err == nil,
			"WriteMsgUnix: %d, %d, %v", n, oobn, err)
		reader.Wait(t)
		readsText(t, r, "through", "the passed fd")
	}
}

// takeFD reads a message with an fd, and writes to that.
func takeFD(t *testing.T, a *socket.UnixConn, network, payload string, oob []byte) {
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
	testenv.Equal(t, uid, os.Getuid(), "it came from user")
	if flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); flags&unix.FD_CLOEXEC == 0 {
		t.Error("the fd is not closed on exec")
	}
	f := os.NewFile(uintptr(fd), "passed")
	f.Write([]byte("through"))
	f.Close()
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
			reader := p.Park(t, coroutine.ReasonRead, func() {
				a.SetReadDeadline(time.Now().Add(limit))
				var got []byte
				buf := make([]byte, 100)
				for ; len(got) < 3; reads++ {
					n := testenv.Must(a.Read(buf))
					got = append(got, buf[:n]...)
				}
			})
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
			testenv.Equal(t, reads, 3,
				"reads: the kernel does not stop at fds, and this tests nothing")
		})
	}
}

func showUnix(a net.Addr) string {
	if u, ok := a.(*net.UnixAddr); ok {
		return "UnixAddr " + u.Net + " " + u.Name
	}
	if a != nil {
		return "no UnixAddr"
	}
	return "nil"
}

// TestUnixAddresses: every address of a socket or packet equals net's.
func TestUnixAddresses(t *testing.T) {
	start(t, 1)
	path, from := testenv.SocketPath(t, "s"), testenv.SocketPath(t, "c")
	try := func(network, name string, laddr *net.UnixAddr) {
		got := ourUnix.addresses(network, name, laddr)
		removeSocket(laddr)
		want := netsUnix.addresses(network, name, laddr)
		removeSocket(laddr)
		testenv.True(t, slices.Equal(got, want), "%s %s from %v:\ngot  %q\nwant %q", network, name,
			laddr, got, want)
	}
	for _, network := range []string{"unix", "unixpacket"} {
		for _, name := range []string{path, "@netco-test-" + filepath.Base(filepath.Dir(path))} {
			try(network, name, nil)
			for _, l := range []string{from, name + "-c", ""} {
				try(network, name, unixAt(network, l))
			}
		}
	}
	try("unixgram", path, nil)
	try("unixgram", path, unixAt("unixgram", from))
}

// addresses returns the addresses of a listener or datagram socket at name, of
// a connection to it from laddr, of its other end, and of what that receives.
func (m unixMaker) addresses(network, name string, laddr *net.UnixAddr) (all []string) {
	var at net.Addr
	var accept func() unixIO
	if network == "unixgram" {
		to := testenv.Must(m.listenPacket(network, unixAt(network, name)))
		defer os.Remove(name)
		at, accept = to.LocalAddr(), func() unixIO { return to }
	} else {
		l := testenv.Must(m.listen(network, unixAt(network, name)))
		defer l.Close()
		at, accept = l.Addr(), func() unixIO { return testenv.Must(l.Accept()).(unixIO) }
	}
	c := testenv.Must(m.dial(network, laddr, at.(*net.UnixAddr)))
	defer c.Close()
	to := accept()
	defer to.Close()
	testenv.Must(c.Write([]byte("x")))
	_, from, err := to.ReadFrom(make([]byte, 1))
	testenv.MustOK(err)
	for _, a := range []net.Addr{at, c.LocalAddr(), c.RemoteAddr(), to.LocalAddr(),
		to.RemoteAddr(), from} {
		all = append(all, showUnix(a))
	}
	return all
}

func removeSocket(a *net.UnixAddr) {
	if a != nil {
		os.Remove(a.Name)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestUnixUnlink: the file is removed when net would remove it, once; a file
// that another program makes there meanwhile stays.
func TestUnixUnlink(t *testing.T) {
	start(t, 2)
	everywhere(t, func(p testrun.Place) {
		path := testenv.SocketPath(t, "s")
		there := func(want bool, what string) {
			t.Helper()
			testenv.Equal(t, exists(path), want, p.Name, "the file is there", what)
		}
		l := testenv.Must(conet.Listen("unix", path))
		there(true, "while it listens: the borrowed socket's end took it")
		testenv.NoError(t, shut(conet.Dial("unix", path)))
		f := testenv.Must(l.(*socket.UnixListener).File())
		testenv.NoError(t, shut(conet.FileListener(f)))
		f.Close()
		there(true, "after the end of a FileListener")
		testenv.NoError(t, l.Close())
		there(false, "after Close")
		testenv.NoError(t, os.WriteFile(path, nil, 0o600))
		testenv.Fails(t, l.Close(), net.ErrClosed, "a second Close")
		there(true, "the new one, after a second Close")
		os.Remove(path)
		kept := testenv.Must(conet.ListenUnix("unixpacket", unixAt("unixpacket", path)))
		kept.SetUnlinkOnClose(false)
		kept.Close()
		there(true, "after SetUnlinkOnClose(false)")
		os.Remove(path)
		testenv.NoError(t, shut(conet.ListenPacket("unixgram", path)))
		there(true, "of a datagram socket, as net's")
	})
}

// closer is a socket that a call under test may have opened.
type closer interface{ Close() error }

// unixMaker is a package that makes Unix sockets: this one or net.
type unixMaker struct {
	listen       func(network string, at *net.UnixAddr) (net.Listener, error)
	listenPacket func(network string, at *net.UnixAddr) (unixIO, error)
	dial         func(network string, from, to *net.UnixAddr) (unixIO, error)
}

var ourUnix = unixMaker{ofAny[net.Listener](conet.ListenUnix),
	ofAny[unixIO](conet.ListenUnixgram), ofAny2[unixIO](conet.DialUnix)}

var netsUnix = unixMaker{ofAny[net.Listener](net.ListenUnix),
	ofAny[unixIO](net.ListenUnixgram), ofAny2[unixIO](net.DialUnix)}

// makes describes what the package makes at an address, and removes the file.
func (m unixMaker) makes(network string, at *net.UnixAddr) (all []string) {
	for _, s := range []func() string{
		func() string { return made(m.listen(network, at)) },
		func() string { return made(m.listenPacket(network, at)) },
		func() string { return made(m.dial(network, nil, at)) },
		func() string { return made(m.dial(network, at, at)) },
	} {
		all = append(all, s())
		if at != nil && filepath.Base(at.Name) == "free" {
			os.Remove(at.Name)
		}
	}
	return all
}

// unixTargets are addresses for every network of Unix, taken, free and bad.
func unixTargets(t *testing.T) (all []*net.UnixAddr) {
	taken, gram := testenv.SocketPath(t, "taken"), testenv.SocketPath(t, "gram")
	testenv.Closing(t, testenv.Must(net.Listen("unix", taken)))
	testenv.Closing(t, testenv.Must(net.ListenPacket("unixgram", gram)))
	t.Chdir(t.TempDir())
	testenv.Closing(t, testenv.Must(net.Listen("unix", "with"))) // where the kernel cuts the name
	for _, name := range []string{taken, gram, filepath.Dir(taken), testenv.SocketPath(t, "free"),
		filepath.Join(taken, "below"), "@netco-nobody", "", "with\x00nul",
		strings.Repeat("x", 108)} {
		all = append(all, unixAt("unix", name))
	}
	return append(all, nil)
}

// unixIO has the methods that both packages' UnixConns share.
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

// unixEnds are the two ends of a connection, or a datagram socket and a socket
// that is connected to it.
type unixEnds struct{ dialled, other unixIO }

// ends makes them at "s" in the current folder.
func (m unixMaker) ends(network string) (p unixEnds) {
	at := unixAt(network, "s")
	if network == "unixgram" {
		p.other = testenv.Must(m.listenPacket(network, at))
		p.dialled = testenv.Must(m.dial(network, nil, at))
		return p
	}
	l := testenv.Must(m.listen(network, at))
	defer l.Close()
	p.dialled = testenv.Must(m.dial(network, nil, at))
	p.other = testenv.Must(l.Accept()).(unixIO)
	return p
}

// unixProbe collects the errors of a series of operations.
type unixProbe struct {
	network string
	errs    []error
}

func (u *unixProbe) add(err error) { u.errs = append(u.errs, err) }

// writes writes by every method, to every sort of address.
func (u *unixProbe) writes(c unixIO) {
	for _, to := range []*net.UnixAddr{nil, unixAt(u.network, "s"), unixAt(u.network, "none"),
		unixAt("unixx", "s"),
		unixAt(u.network, ""), unixAt(u.network, strings.Repeat("x", 200))} {
		u.add(testenv.Err(c.WriteToUnix([]byte("x"), to)))
		u.add(err3(c.WriteMsgUnix([]byte("x"), nil, to)))
		if u.network == "unix" {
			u.add(err3(c.WriteMsgUnix(nil, unix.UnixRights(2), to)))
		}
	}
	u.add(testenv.Err(c.WriteTo([]byte("x"), &net.UDPAddr{})))
	u.add(testenv.Err(c.WriteTo([]byte("x"), nil)))
	u.add(testenv.Err(c.Write(nil)))
	if u.network != "unix" {
		u.add(testenv.Err(c.Write(make([]byte, 16<<20))))
		u.add(err3(c.WriteMsgUnix(make([]byte, 16<<20), nil, nil)))
	}
	u.add(err3(c.WriteMsgUnix([]byte("x"), []byte("not ancillary data"), nil)))
}

// reads reads by every method. It reads all that has come, however late this
// thread is; on a datagram socket that has nothing it waits for the deadline.
func (u *unixProbe) reads(c unixIO) {
	for _, read := range []func() error{
		func() error { return err3(c.ReadFrom(make([]byte, 1))) },
		func() error { return err3(c.ReadFromUnix(make([]byte, 1))) },
		func() error {
			_, _, _, _, err := c.ReadMsgUnix(make([]byte, 1), make([]byte, 100))
			return err
		},
		func() error { _, err := c.Read(make([]byte, 1)); return err },
	} {
		c.SetReadDeadline(time.Now().Add(limit))
		if emptyUnix(c) {
			c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		}
		u.add(read())
	}
}

// ending tries both ends while one after the other is shut down and closed.
func (u *unixProbe) ending(p unixEnds) {
	u.writes(p.dialled)
	u.writes(p.other)
	for _, err := range []error{p.dialled.CloseRead(), p.dialled.CloseWrite(), p.other.CloseRead(),
		p.other.CloseRead(),
		p.other.SetReadBuffer(-1), p.other.SetWriteBuffer(4096)} {
		u.add(err)
	}
	drainUnix(p.dialled)
	u.reads(p.dialled)
	u.writes(p.dialled)
	u.add(p.dialled.Close())
	u.add(p.dialled.Close())
	u.writes(p.other)
	drainUnix(p.other)
	u.reads(p.other)
	u.add(p.other.Close())
}

// closed tries an end that is closed.
func (u *unixProbe) closed(c unixIO) {
	u.reads(c)
	u.writes(c)
	u.add(c.CloseRead())
	u.add(c.CloseWrite())
	u.add(testenv.Err(c.File()))
	raw, err := c.SyscallConn()
	u.add(err)
	u.add(raw.Control(func(uintptr) {}))
	u.add(raw.Read(func(uintptr) bool { return true }))
	u.add(raw.Write(func(uintptr) bool { return true }))
	u.add(c.SetReadBuffer(4096))
	u.add(testenv.Err(c.Read(nil)))
}

// TestUnixIOErrors compares the errors of reads and writes with net's: on both
// ends of each kind of connection, on a socket without a peer, after the peer
// has gone, and after Close.
func TestUnixIOErrors(t *testing.T) {
	start(t, 2)
	t.Chdir(filepath.Dir(testenv.SocketPath(t, "x")))
	probe := func(m unixMaker, network string) []error {
		x, p := unixProbe{network: network}, m.ends(network)
		x.ending(p)
		x.closed(p.dialled)
		x.closed(p.other)
		os.Remove("s")
		return x.errs
	}
	for i, network := range []string{"unix", "unixgram", "unixpacket"} {
		want := probe(netsUnix, network)
		for _, p := range inTurn(i, testrun.Places) {
			p.Do(t, func() {
				for i, got := range probe(ourUnix, network) {
					same(t, fmt.Sprintf("%s, %s, %d", p.Name, network, i), got, want[i])
				}
			})
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
