package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// diffRun is one sequence of operations. Nothing in it depends on luck: before
// each step all that the last one set in motion has arrived, at both ends of
// both connections, and a step is chosen by that state so that what it returns
// is determined. Where one end waits while another acts, what comes of it is
// the same whether the wait had begun or not; what the kernel alone decides,
// how much fits into its buffers, is not compared but read back by the peer to
// the byte.
type diffRun struct {
	t            testing.TB
	unix         bool
	theirs, ours *diffWorld
	ends         [2]diffModel
	trace        []string
	failed       bool
}

// diffModel is what is known of an end, the same in both worlds.
type diffModel struct {
	closed     bool
	noReads    bool // after CloseRead
	noWrites   bool // after CloseWrite
	dead       bool // reset, or ended from both sides: the kernel says POLLHUP
	drops      bool // SetLinger(0)
	unread     int  // bytes that have arrived
	readLimit  diffLimit
	writeLimit diffLimit
}

// diffLimit is the deadline an end has.
type diffLimit byte

const (
	limitNone diffLimit = iota
	limitFar
	limitPast
)

// diffOp is one operation, as three bytes of a sequence give it.
type diffOp struct{ code, arg, how byte }

func (o diffOp) end() int             { return int(o.how & 1) }
func (o diffOp) place() testrun.Place { return testrun.Places[int(o.how>>1)%len(testrun.Places)] }

// variant is one of n.
func (o diffOp) variant(n int) int { return int(o.how>>3) % n }

// size is a small number of bytes: what a few of them wait unread always has
// room.
func (o diffOp) size() int {
	if o.arg < 128 {
		return int(o.arg) % 24
	}
	return (int(o.arg) - 127) * 32
}

// maxUnread is how many bytes an end lets wait.
const maxUnread = 8 << 10

// runDiff runs a sequence: a byte for the network, then three for each
// operation.
func runDiff(t testing.TB, data []byte) {
	t.Helper()
	if len(data) == 0 {
		return
	}
	d := &diffRun{t: t, unix: data[0]%2 == 1}
	network := "tcp"
	if d.unix {
		network = "unix"
	}
	d.theirs, d.ours = newDiffWorlds(t, network)
	over := false
	defer func() {
		d.theirs.close()
		d.ours.close()
		if d.failed || !over {
			t.Logf("the sequence is []byte(%q):\n%s%s", data, network, strings.Join(d.trace, ""))
		}
	}()
	d.ownBuffers()
	for at := 1; at+2 < len(data) && !d.failed && !(d.ends[0].closed && d.ends[1].closed); at += 3 {
		d.operate(diffOp{data[at], data[at+1], data[at+2]})
		d.settle()
	}
	for e := range d.ends { // and the same once more, to see each operation on what is closed
		if d.failed {
			break
		}
		d.closeEnd(diffOp{how: byte(e)}, e)
		d.settle()
		d.compareAfterClose(e)
	}
	over = true
}

// ownBuffers compares what both packages set on a new connection.
func (d *diffRun) ownBuffers() {
	for e := range d.ends {
		d.step(fmt.Sprintf("options of %d", e), func(w *diffWorld) string { return w.options(e) })
	}
}

// step does one thing in both worlds and compares what they report of it.
func (d *diffRun) step(what string, do func(w *diffWorld) string) {
	d.t.Helper()
	if d.failed {
		return
	}
	d.trace = append(d.trace, "\n\t"+what)
	want := do(d.theirs)
	d.trace = append(d.trace, ": "+want)
	if got := do(d.ours); got != want {
		d.failed = true
		d.t.Errorf("%s:\nnetco %s\nnet   %s", what, got, want)
	}
}

// act is step for an operation in its place.
func (d *diffRun) act(o diffOp, what string, do func(w *diffWorld) string) {
	d.t.Helper()
	d.step(what, func(w *diffWorld) (text string) {
		w.do(o.place(), func() { text = do(w) })
		return text
	})
}

// settle waits until what is under way between the ends has arrived, then
// compares what the kernel says of them.
func (d *diffRun) settle() {
	d.t.Helper()
	if d.failed {
		return
	}
	for e, m := range d.ends {
		if m.closed {
			continue
		}
		for _, w := range []*diffWorld{d.theirs, d.ours} {
			var k kernel
			end := time.Now().Add(limit)
			for k = w.ask(e); !d.arrived(e, k); k = w.ask(e) {
				if time.Now().After(end) {
					d.failed = true
					d.t.Errorf("%s: end %d has %v, which does not become %+v", w.name, e, k, m)
					return
				}
			}
		}
	}
	for e, m := range d.ends {
		if m.closed {
			continue
		}
		if got, want := d.ours.ask(e), d.theirs.ask(e); got != want {
			d.failed = true
			d.t.Errorf("the kernel tells of end %d:\nnetco %v\nnet   %v", e, got, want)
		}
	}
}

// arrived reports whether an end has got what was sent to it.
func (d *diffRun) arrived(e int, k kernel) bool {
	m, peer := d.ends[e], d.ends[1-e]
	switch {
	case k.queued != m.unread:
		return false
	case d.unix:
		return true // nothing is ever under way
	case m.dead:
		return k.events&unix.POLLHUP != 0
	case peer.closed || peer.noWrites:
		return k.events&unix.POLLRDHUP != 0
	case m.noWrites:
		return true
	}
	return k.events&unix.POLLOUT != 0 // all but a little has been acknowledged
}

// These keep the model.

// wrote is that an end has written n bytes.
func (d *diffRun) wrote(e, n int) {
	m, peer := &d.ends[e], &d.ends[1-e]
	switch {
	case n == 0 || m.dead:
	case peer.closed:
		m.dead = true // the kernel answers with a reset
	case !d.unix && peer.noReads && peer.noWrites:
		m.dead, peer.dead = true, true // so it does here
	default:
		peer.unread += n
	}
}

// ended is that an end's CloseWrite has succeeded.
func (d *diffRun) ended(e int) {
	m, peer := &d.ends[e], &d.ends[1-e]
	m.noWrites = true
	if peer.noWrites && !d.unix || peer.closed {
		m.dead, peer.dead = true, true
	}
}

// gone is that an end was closed.
func (d *diffRun) gone(e int) {
	m, peer := &d.ends[e], &d.ends[1-e]
	if m.closed {
		return
	}
	m.closed = true
	if d.unix || m.drops || m.unread > 0 || peer.noWrites {
		peer.dead = true
	}
}

// waits reports whether a read of an end that finds nothing would wait.
func (d *diffRun) waits(e int) bool {
	m := &d.ends[e]
	return !m.closed && m.readLimit != limitPast && !d.theirs.ask(e).readable()
}

// writes reports whether an end's writes succeed.
func (d *diffRun) writes(e int) bool {
	m, peer := &d.ends[e], &d.ends[1-e]
	return !m.closed && !m.noWrites && !m.dead && m.writeLimit != limitPast && !peer.closed &&
		!peer.noReads
}

// TestDifferential: random sequences of operations come out as package net's
// do, over TCP and Unix sockets, from all places.
func TestDifferential(t *testing.T) {
	sequences, most := testenv.Rounds(400), 5*time.Second
	seed := testenv.Seed(t)
	start(t, 2)
	began := time.Now()
	for i := range sequences {
		if time.Since(began) > most && i >= sequences/10 {
			t.Logf("%d sequences", i)
			break
		}
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		data := make([]byte, 1+3*(5+rnd.IntN(35)))
		for j := range data {
			data[j] = byte(rnd.Uint32())
		}
		if runDiff(t, data); t.Failed() {
			t.Fatalf("sequence %d of NETCO_SEED=%d", i, seed)
		}
		untilOpen(t, 0) // from a coroutine, Close waits for no goroutine that writes
	}
}

// TestDifferentialFull: each way to write, ended in each way when there is no
// room: by a deadline, a Close, the peer. What is said to be written is what
// the peer finds, and of Buffers the rest is left over.
func TestDifferentialFull(t *testing.T) {
	start(t, 2)
	for network := range byte(2) {
		for how := range diffWriters {
			for ending := range byte(fullEndings) {
				if (int(network+ending)+how)%2 == 0 && !testenv.Full() {
					continue
				}
				runDiff(t, []byte{network, fillUpCode, ending, byte(how<<3) | ending%3<<1})
			}
		}
	}
}

// FuzzDifferential is TestDifferential with sequences that the fuzzer finds.
func FuzzDifferential(f *testing.F) {
	start(f, 2)
	f.Fuzz(func(t *testing.T, data []byte) {
		runDiff(t, data[:min(len(data), 1+3*100)])
	})
}

// A differential run does the same operations to two connections, one of
// package net and one of this package, and compares what each operation
// returned and what the kernel then says of the connection.

// diffEnd is what the stream connections of both packages have.
type diffEnd interface {
	net.Conn
	syscall.Conn
	CloseRead() error
	CloseWrite() error
	File() (*os.File, error)
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// diffTCP is what those over TCP have besides.
type diffTCP interface {
	SetLinger(sec int) error
	SetNoDelay(noDelay bool) error
	SetKeepAlive(keepAlive bool) error
	SetKeepAlivePeriod(d time.Duration) error
	SetKeepAliveConfig(config net.KeepAliveConfig) error
}

// diffWorld is one connection, both of its ends.
type diffWorld struct {
	t    testing.TB
	name string
	ours bool
	ends [2]diffEnd
	fds  [2]int            // not to be used once the end is closed
	hide *strings.Replacer // what differs from one connection to the next

	sent [2]int          // where each end's writer is in its stream
	got  [2]atomic.Int64 // where its reader is
}

// diffBuffer is the size of the kernel's buffers, so that filling them takes
// little.
const diffBuffer = 64 << 10

// newDiffWorlds makes a connection of each package.
func newDiffWorlds(t testing.TB, network string) (theirs, ours *diffWorld) {
	t.Helper()
	theirs, ours = &diffWorld{t: t, name: "net"}, &diffWorld{t: t, name: "netco", ours: true}
	for _, w := range []*diffWorld{theirs, ours} {
		if err := w.connect(network); err != nil {
			w.close()
			theirs.close()
			t.Fatal(err)
		}
	}
	return theirs, ours
}

func (w *diffWorld) close() {
	for _, c := range w.ends {
		if c != nil {
			c.Close()
		}
	}
}

func (w *diffWorld) connect(network string) error {
	address := "127.0.0.1:0"
	if network == "unix" {
		address = abstractName()
	}
	listen, dial := net.Listen, net.Dial
	if w.ours {
		listen, dial = conet.Listen, conet.Dial
	}
	l, err := listen(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	a, err := dial(network, l.Addr().String())
	if err != nil {
		return err
	}
	w.ends[0] = a.(diffEnd)
	b, err := l.Accept()
	if err != nil {
		return err
	}
	w.ends[1] = b.(diffEnd)
	if network == "tcp" {
		w.hide = strings.NewReplacer(a.LocalAddr().String(), "A", b.LocalAddr().String(), "B")
	} else {
		w.hide = strings.NewReplacer(address, "PATH")
	}
	for i, c := range w.ends {
		w.fds[i] = diffFD(c)
		if err := errors.Join(c.SetReadBuffer(diffBuffer),
			c.SetWriteBuffer(diffBuffer)); err != nil {
			return err
		}
	}
	return nil
}

func diffFD(c diffEnd) (fd int) {
	if s, ok := c.(interface{ FD() int }); ok {
		return s.FD()
	}
	raw, err := c.SyscallConn()
	if err != nil {
		panic(err)
	}
	raw.Control(func(x uintptr) { fd = int(x) })
	return fd
}

// begin runs f in a place; that of net's is an ordinary goroutine.
func (w *diffWorld) begin(p testrun.Place, f func()) *testrun.Task {
	if !w.ours {
		p = testrun.Goroutine
	}
	return p.Go(f)
}

// do runs f in a place to its end.
func (w *diffWorld) do(p testrun.Place, f func()) {
	w.t.Helper()
	w.begin(p, f).Wait(w.t)
}

// settleIn lets a task get to where it waits. A coroutine is watched; no
// outcome depends on whether a goroutine got there.
func (w *diffWorld) settleIn(k *testrun.Task) {
	w.t.Helper()
	testenv.Await(w.t, k.Started, "the task to start")
	if k.Co == nil {
		for range 10 {
			runtime.Gosched()
		}
		return
	}
	testenv.Until(w.t, "the task to wait or end", func() bool {
		return k.Over() || k.Co.State() == coroutine.Waiting
	})
}

// kernel is what the kernel says of an end.
type kernel struct {
	queued int   // bytes to be read
	events int16 // poll's
}

func (k kernel) String() string {
	return fmt.Sprintf("%d bytes to read, events %#x", k.queued, k.events)
}

// readable reports whether a read would not wait.
func (k kernel) readable() bool {
	return k.events&(unix.POLLIN|unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}

// ask asks the kernel about an end that is open.
func (w *diffWorld) ask(e int) (k kernel) {
	w.t.Helper()
	k.queued = queued(w.t, w.fds[e])
	p := []unix.PollFd{{Fd: int32(w.fds[e]),
		Events: unix.POLLIN | unix.POLLOUT | unix.POLLRDHUP | unix.POLLPRI}}
	testenv.Poll(p, 0)
	k.events = p[0].Revents
	return k
}

// write writes the next n bytes of an end's stream.
func (w *diffWorld) write(e, n int, do func(c diffEnd, p []byte) (int, error)) (done int,
	err error) {
	p := make([]byte, n)
	fill(p, w.sent[e])
	done, err = do(w.ends[e], p)
	w.sent[e] += done
	return done, err
}

// received checks bytes that an end has read and returns what is wrong with
// them.
func (w *diffWorld) received(e int, p []byte) string {
	return differs(p, int(w.got[e].Add(int64(len(p))))-len(p))
}

// errorText is errorText without what differs from one connection to the next.
func (w *diffWorld) errorText(err error) string { return errorText(err, w.hide) }

// diffOps are the operations, each as often as it is to be met in a random
// sequence.
var diffOps = func() (ops []func(d *diffRun, o diffOp, e int)) {
	for _, x := range []struct {
		often int
		op    func(d *diffRun, o diffOp, e int)
	}{
		{12, (*diffRun).writeSome},
		{12, (*diffRun).readSome},
		{5, (*diffRun).readAll},
		{5, (*diffRun).setDeadline},
		{6, (*diffRun).waitThen},
		{2, (*diffRun).fillUp},
		{2, (*diffRun).bulk},
		{2, (*diffRun).twoWriters},
		{3, (*diffRun).setOption},
		{3, (*diffRun).look},
		{2, (*diffRun).rawControl},
		{1, (*diffRun).closeRead},
		{2, (*diffRun).closeWrite},
		{1, (*diffRun).closeEnd},
		{1, (*diffRun).reset},
	} {
		for range x.often {
			ops = append(ops, x.op)
		}
	}
	return ops
}()

// fillUpCode is the code of fillUp in a sequence.
const fillUpCode = 12 + 12 + 5 + 5 + 6

func (d *diffRun) operate(o diffOp) { diffOps[int(o.code)%len(diffOps)](d, o, o.end()) }

// name describes an operation for the trace.
func (o diffOp) name(what string, args ...any) string {
	return fmt.Sprintf("end %d, %s: ", o.end(), o.place().Name) + fmt.Sprintf(what, args...)
}

// diffWriters are ways to write p.
var diffWriters = []struct {
	name string
	do   func(c diffEnd, p []byte) (int, error)
}{
	{"Write", func(c diffEnd, p []byte) (int, error) { return c.Write(p) }},
	{"Buffers", func(c diffEnd, p []byte) (int, error) {
		v := net.Buffers{p[:len(p)/3], nil, p[len(p)/3 : len(p)/2], p[len(p)/2:]}
		size := len(p)
		n, err := writeBuffers(c, &v)
		for _, x := range v {
			size -= len(x)
		}
		if int64(size) != n { // empty pieces net leaves if it has written nothing
			return int(n), fmt.Errorf("%d written, %d left over: %w", n, v, err)
		}
		return int(n), err
	}},
	{"io.Copy", func(c diffEnd, p []byte) (int, error) {
		n, err := io.Copy(c, struct{ io.Reader }{bytes.NewReader(p)})
		return int(n), err
	}},
	{"io.Copy of a WriterTo", func(c diffEnd, p []byte) (int, error) {
		n, err := io.Copy(c, bytes.NewReader(p))
		return int(n), err
	}},
	{"raw Write", func(c diffEnd, p []byte) (n int, err error) {
		raw, err := c.SyscallConn()
		if err != nil {
			return 0, err
		}
		for len(p) > 0 {
			var sent int
			var failed error
			err = raw.Write(func(fd uintptr) bool {
				sent, failed = unix.SendmsgN(int(fd), p, nil, nil,
					unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
				return failed != unix.EAGAIN && failed != unix.EINTR
			})
			if err == nil {
				err = failed
			}
			if err != nil {
				return n, err
			}
			n, p = n+sent, p[sent:]
		}
		return n, raw.Write(func(uintptr) bool { return true })
	}},
	// those from here on are for much
	{"a file", func(c diffEnd, p []byte) (int, error) { return sendDiffFile(c, p, false) }},
	{"a part of a file", func(c diffEnd, p []byte) (int, error) {
		return sendDiffFile(c, p, true)
	}},
	{"a connection", func(c diffEnd, p []byte) (int, error) {
		w := &diffWorld{ours: isOurs(c)}
		defer w.close()
		if err := w.connect("tcp"); err != nil {
			return 0, err
		}
		go func() {
			w.ends[0].Write(p)
			w.ends[0].CloseWrite()
		}()
		n, err := io.Copy(c, w.ends[1])
		return int(n), copyError(c, err)
	}},
}

// copyError is what a copy failed for in the end: net wraps errors of its calls
// twice or once. Of ours over TCP it checks the name.
func copyError(c diffEnd, err error) error {
	if _, tcp := c.(*socket.TCPConn); tcp && err != nil &&
		!strings.Contains(err.Error(), "readfrom tcp") {
		return fmt.Errorf("%w has not failed to readfrom", err)
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	if err == unix.EPIPE {
		return unix.ECONNRESET // by which call meets the reset
	}
	return err
}

// diffSmall are as many of them as are used for little.
const diffSmall = 5

func isOurs(c diffEnd) bool {
	_, ours := c.(socket.Stream)
	return ours
}

// sendDiffFile writes p by way of a file, or of a part of one.
func sendDiffFile(c diffEnd, p []byte, part bool) (int, error) {
	f, err := os.CreateTemp("", "netco")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	f.Write([]byte("before"))
	f.Write(p)
	var r io.Reader = f
	if part {
		f.Write([]byte("after"))
		r = io.LimitReader(f, int64(len(p)))
	}
	f.Seek(6, io.SeekStart)
	n, err := io.Copy(c, r)
	_, tcp := c.(*socket.TCPConn) // others read ahead
	if at, _ := f.Seek(0, io.SeekCurrent); tcp && n > 0 && at != 6+n {
		return int(n), fmt.Errorf("the file is at %d, %w", at, err)
	}
	return int(n), copyError(c, err)
}

// writeBuffers is net.Buffers.WriteTo, which knows net's connections only.
func writeBuffers(c diffEnd, v *net.Buffers) (int64, error) {
	if ours, ok := c.(interface {
		WriteBuffers(*net.Buffers) (int64, error)
	}); ok {
		return ours.WriteBuffers(v)
	}
	return v.WriteTo(c)
}

// writeSome writes what has room, or fails.
func (d *diffRun) writeSome(o diffOp, e int) {
	n := o.size()
	if d.ends[1-e].unread+n > maxUnread {
		d.readAll(diffOp{o.code, o.arg, o.how ^ 1}, 1-e)
		return
	}
	how := diffWriters[o.variant(diffSmall)]
	done := 0
	d.act(o, o.name("%s %d", how.name, n), func(w *diffWorld) string {
		var err error
		done, err = w.write(e, n, how.do)
		return fmt.Sprintf("%d, %s", done, w.errorText(err))
	})
	d.wrote(e, done)
}

// diffReaders are ways to read up to len(p) bytes, once.
var diffReaders = []struct {
	name string
	do   func(c diffEnd, p []byte) (int, error)
}{
	{"Read", func(c diffEnd, p []byte) (int, error) { return c.Read(p) }},
	{"raw Read", func(c diffEnd, p []byte) (n int, err error) {
		raw, err := c.SyscallConn()
		if err != nil {
			return 0, err
		}
		var failed error
		err = raw.Read(func(fd uintptr) bool {
			if len(p) == 0 {
				return true // of a Unix socket the kernel would wait for something even so
			}
			n, _, failed = unix.Recvfrom(int(fd), p, unix.MSG_DONTWAIT)
			return failed != unix.EAGAIN && failed != unix.EINTR
		})
		if err == nil {
			err = failed
		}
		return max(n, 0), err
	}},
	{"WaitReadable and Read", func(c diffEnd, p []byte) (int, error) {
		if s, ok := c.(socket.Stream); ok && len(p) > 0 {
			if err := s.WaitReadable(); err != nil {
				return 0, err
			}
		}
		return c.Read(p)
	}},
	{"ReadFull", func(c diffEnd, p []byte) (int, error) { return io.ReadFull(c, p) }},
}

// readSome reads once, or a part that is there, or fails. One that would have
// to wait waits for something.
func (d *diffRun) readSome(o diffOp, e int) {
	m := &d.ends[e]
	size := o.size()
	if o.arg > 240 {
		size = 2 * maxUnread
	}
	if size > 0 && d.waits(e) {
		d.waitThen(o, e)
		return
	}
	how := o.variant(len(diffReaders))
	if how == 3 && m.unread < size {
		size = m.unread
	}
	done := 0
	d.act(o, o.name("%s %d", diffReaders[how].name, size), func(w *diffWorld) (text string) {
		done, text = w.read(e, size, diffReaders[how].do)
		return text
	})
	m.unread -= done
}

// read reads by one of diffReaders and describes what came of it.
func (w *diffWorld) read(e, size int, do func(c diffEnd, p []byte) (int, error)) (int, string) {
	p := make([]byte, size)
	n, err := do(w.ends[e], p)
	return n, fmt.Sprintf("%d, %s%s", n, w.errorText(err), w.received(e, p[:n]))
}

// readAll reads what is there by io.ReadFull.
func (d *diffRun) readAll(o diffOp, e int) {
	m := &d.ends[e]
	size := m.unread
	if size > 0 && o.variant(2) == 1 && !d.waitsAfter(e) {
		size++ // and meets the end, or an error
	}
	done := 0
	d.act(o, o.name("ReadFull %d", size), func(w *diffWorld) (text string) {
		done, text = w.read(e, size, diffReaders[3].do)
		return text
	})
	m.unread -= done
}

// waitsAfter reports whether a read would wait after all that is there was
// read.
func (d *diffRun) waitsAfter(e int) bool {
	m, peer := d.ends[e], d.ends[1-e]
	return !(m.closed || m.dead || m.noReads || m.readLimit == limitPast || peer.closed ||
		peer.noWrites)
}

// setDeadline sets one of either direction or of both.
func (d *diffRun) setDeadline(o diffOp, e int) {
	m := &d.ends[e]
	set := []struct {
		name string
		to   time.Time
		is   diffLimit
	}{
		{"none", time.Time{}, limitNone}, {"far", future, limitFar}, {"past", past, limitPast},
		{"none", time.Time{}, limitNone},
		{"long ago", time.Unix(0, 1), limitPast},
	}[int(o.arg)%5]
	side := o.variant(3)
	d.act(o, o.name("deadline %d %s", side, set.name), func(w *diffWorld) string {
		c := w.ends[e]
		return w.errorText([]func(time.Time) error{c.SetReadDeadline, c.SetWriteDeadline,
			c.SetDeadline}[side](set.to))
	})
	if m.closed {
		return
	}
	if side != 1 {
		m.readLimit = set.is
	}
	if side != 0 {
		m.writeLimit = set.is
	}
}

func (d *diffRun) closeRead(o diffOp, e int) {
	ok := false
	d.act(o, o.name("CloseRead"), func(w *diffWorld) string {
		err := w.ends[e].CloseRead()
		ok = err == nil
		return w.errorText(err)
	})
	d.ends[e].noReads = d.ends[e].noReads || ok
}

func (d *diffRun) closeWrite(o diffOp, e int) {
	ok := false
	d.act(o, o.name("CloseWrite"), func(w *diffWorld) string {
		err := w.ends[e].CloseWrite()
		ok = err == nil
		return w.errorText(err)
	})
	if ok {
		d.ended(e)
	}
}

func (d *diffRun) closeEnd(o diffOp, e int) {
	d.act(o, o.name("Close"), func(w *diffWorld) string { return w.errorText(w.ends[e].Close()) })
	d.gone(e)
}

// reset closes with a reset.
func (d *diffRun) reset(o diffOp, e int) {
	if !d.unix {
		d.step(o.name("SetLinger(0)"), func(w *diffWorld) string {
			return w.errorText(w.ends[e].(diffTCP).SetLinger(0))
		})
		d.ends[e].drops = true
	}
	d.closeEnd(o, e)
}

// compareAfterClose tries everything on an end that is closed.
func (d *diffRun) compareAfterClose(e int) {
	o := diffOp{how: byte(e)}
	for i := range diffSmall {
		d.writeSome(diffOp{0, 200, byte(e | i<<3)}, e)
	}
	for i := range diffReaders {
		d.readSome(diffOp{0, 200, byte(e | i<<3)}, e)
		d.readSome(diffOp{0, 0, byte(e | i<<3)}, e)
	}
	for i := range 3 {
		d.setDeadline(diffOp{0, 0, byte(e | i<<3)}, e)
	}
	for i := range 14 {
		d.setOption(diffOp{0, byte(i), byte(e)}, e)
	}
	d.look(o, e)
	d.rawControl(o, e)
	d.closeRead(o, e)
	d.closeWrite(o, e)
	d.closeEnd(o, e)
}

// setOption sets something and compares all options afterwards.
func (d *diffRun) setOption(o diffOp, e int) {
	m := &d.ends[e]
	which := int(o.arg) % 14
	if which == 9 && m.closed {
		return // net changes nothing and does not look whether it could: no error
	}
	d.act(o, o.name("option %d", which), func(w *diffWorld) string {
		text := w.errorText(setDiffOption(w.ends[e], which))
		if !m.closed {
			text += " " + w.options(e)
		}
		return text
	})
}

// setDiffOption sets one of 14 things, of which a Unix socket has the first
// four. It leaves Nagle's algorithm off: that makes waiting for what is under
// way slow.
func setDiffOption(c diffEnd, which int) error {
	if which < 4 {
		size := []int{2 * diffBuffer, diffBuffer}[which/2]
		return []func(int) error{c.SetReadBuffer, c.SetWriteBuffer}[which%2](size)
	}
	t, ok := c.(diffTCP)
	if !ok {
		return nil
	}
	switch which {
	case 4:
		return t.SetNoDelay(true)
	case 5, 6:
		return t.SetKeepAlive(which == 6)
	case 7, 8, 9:
		return t.SetKeepAlivePeriod([]time.Duration{1500 * time.Millisecond, 0, -1}[which-7])
	case 10, 11, 12:
		return t.SetKeepAliveConfig([]net.KeepAliveConfig{
			{Enable: true, Idle: time.Minute, Interval: -1, Count: 3}, {},
			{Enable: true, Idle: 40000 * time.Second}, // more than the kernel takes
		}[which-10])
	}
	if err := t.SetLinger(3); err != nil {
		return err
	}
	return t.SetLinger(-1)
}

// diffOptions are the options that either package may set.
var diffOptions = [][2]int{
	{unix.SOL_SOCKET, unix.SO_TYPE}, {unix.SOL_SOCKET, unix.SO_RCVBUF},
	{unix.SOL_SOCKET, unix.SO_SNDBUF}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE},
	{unix.SOL_SOCKET, unix.SO_LINGER}, {unix.SOL_SOCKET, unix.SO_REUSEADDR},
	{unix.SOL_SOCKET, unix.SO_OOBINLINE}, {unix.IPPROTO_TCP, unix.TCP_NODELAY},
	{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}, {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL},
	{unix.IPPROTO_TCP, unix.TCP_KEEPCNT},
}

// options returns the options that either package may set.
func (w *diffWorld) options(e int) string {
	var b strings.Builder
	for _, o := range diffOptions {
		n, err := unix.GetsockoptInt(w.fds[e], o[0], o[1])
		if err != nil {
			n = -1
		}
		fmt.Fprintf(&b, " %d", n)
	}
	flags, _ := unix.FcntlInt(uintptr(w.fds[e]), unix.F_GETFL, 0)
	onExec, _ := unix.FcntlInt(uintptr(w.fds[e]), unix.F_GETFD, 0)
	fmt.Fprintf(&b, " nonblock=%v cloexec=%v", flags&unix.O_NONBLOCK != 0,
		onExec&unix.FD_CLOEXEC != 0)
	return b.String()
}

// look asks for addresses and for a file.
func (d *diffRun) look(o diffOp, e int) {
	d.step(o.name("look"), func(w *diffWorld) (text string) {
		c := w.ends[e]
		w.do(o.place(), func() {
			for _, a := range []net.Addr{c.LocalAddr(), c.RemoteAddr()} {
				if a == nil {
					text += "nil "
					continue
				}
				text += fmt.Sprintf("%T %s %s; ", a, a.Network(), w.hide.Replace(a.String()))
			}
		})
		// A coroutine must not open files.
		f, err := c.File()
		text += w.errorText(err)
		if err == nil {
			text += w.hide.Replace(f.Name())
			f.Close()
		}
		return text
	})
}

// rawControl uses the fd.
func (d *diffRun) rawControl(o diffOp, e int) {
	d.act(o, o.name("raw Control"), func(w *diffWorld) string {
		raw, err := w.ends[e].SyscallConn()
		text := w.errorText(err)
		if err != nil {
			return text
		}
		calls := 0
		err = raw.Control(func(fd uintptr) {
			calls++
			n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE)
			text += fmt.Sprint(" type ", n, err)
		})
		return text + fmt.Sprintf(", %d calls, %s", calls, w.errorText(err))
	})
}

// How a wait is ended from outside.
const (
	byData = iota
	byDeadline
	byMovedDeadline
	byTimer
	byClose
	byCloseRead
	byPeerCloseWrite
	byPeerClose
	byPeerReset
	endings
)

// diffWaits are reads that wait, each with what can end it. p is as long as
// what the peer writes, if it does.
var diffWaits = []struct {
	name   string
	pieces int // in how many the peer writes
	do     func(c diffEnd, p []byte) (int, error)
}{
	{"Read", 1, diffReaders[0].do},
	{"raw Read", 1, diffReaders[1].do},
	{"WaitReadable and Read", 1, diffReaders[2].do},
	{"ReadFull", 3, diffReaders[3].do},
	{"io.Copy", 0, func(c diffEnd, p []byte) (int, error) { // to the end of the stream
		var b bytes.Buffer
		n, err := io.Copy(&b, c)
		copy(p, b.Bytes())
		return int(n), err
	}},
}

// waitThen reads what is not there, and then something happens. With two
// readers the same happens to both.
func (d *diffRun) waitThen(o diffOp, e int) {
	m := &d.ends[e]
	if !d.waits(e) {
		return
	}
	wait := diffWaits[int(o.arg)%len(diffWaits)]
	ending := d.possible(int(o.arg/8)%endings, e, wait.pieces)
	readers := 1
	// of whom one has the error
	if o.variant(4) == 3 && ending != byData && ending != byPeerClose && ending != byPeerReset {
		readers = 2
	}
	size := 1 + o.size()
	d.step(o.name("%d × %s %d, ended by %d", readers, wait.name, size, ending),
		func(w *diffWorld) string {
			c := w.ends[e]
			if ending == byTimer {
				c.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
			}
			texts := make([]string, readers)
			var tasks []*testrun.Task
			for i := range texts {
				k := w.begin(testrun.Places[(int(o.how>>1)+i)%len(testrun.Places)], func() {
					_, texts[i] = w.read(e, size, wait.do)
				})
				w.settleIn(k)
				tasks = append(tasks, k)
			}
			text := d.endWait(w, ending, e, size, wait.pieces, tasks[0])
			testrun.WaitAll(w.t, tasks...)
			if ending == byDeadline || ending == byMovedDeadline || ending == byTimer {
				text += w.errorText(c.SetReadDeadline(time.Time{}))
			}
			return fmt.Sprint(texts, " ", text)
		})
	switch ending {
	case byDeadline, byMovedDeadline, byTimer:
		m.readLimit = limitNone
	case byClose:
		d.gone(e)
	case byCloseRead:
		m.noReads = true
	case byPeerCloseWrite:
		d.ended(1 - e)
	case byPeerClose, byPeerReset:
		if ending == byPeerReset && !d.unix {
			d.ends[1-e].drops = true
		}
		d.gone(1 - e)
	}
}

// possible returns an ending that end e's wait can have: the one wished for, or
// a deadline.
func (d *diffRun) possible(ending, e, pieces int) int {
	peer := d.ends[1-e]
	switch ending {
	case byData:
		if pieces == 0 || !d.writes(1-e) {
			return byDeadline
		}
	case byPeerCloseWrite, byPeerClose, byPeerReset:
		if peer.closed || peer.noWrites || peer.dead {
			return byDeadline
		}
	case byCloseRead:
		if d.ends[e].dead {
			return byDeadline
		}
	}
	return ending
}

// endWait ends the wait of end e.
func (d *diffRun) endWait(w *diffWorld, ending, e, size, pieces int,
	reader *testrun.Task) (text string) {
	c, peer := w.ends[e], w.ends[1-e]
	switch ending {
	case byData:
		for i := range pieces {
			n, err := w.write(1-e, size*(i+1)/pieces-size*i/pieces, diffWriters[0].do)
			text += fmt.Sprintf("%d, %s; ", n, w.errorText(err))
			if i < pieces-1 {
				w.settleIn(reader)
			}
		}
	case byDeadline:
		text = w.errorText(c.SetDeadline(past)) +
			w.errorText(c.SetWriteDeadline(d.ends[e].writeLimit.time()))
	case byMovedDeadline:
		text = w.errorText(c.SetReadDeadline(future)) +
			w.errorText(c.SetReadDeadline(time.Now().Add(time.Millisecond)))
	case byTimer:
	case byClose:
		text = w.errorText(c.Close())
	case byCloseRead:
		text = w.errorText(c.CloseRead())
	case byPeerCloseWrite:
		text = w.errorText(peer.CloseWrite())
	case byPeerReset:
		if t, ok := peer.(diffTCP); ok {
			text = w.errorText(t.SetLinger(0))
		}
		fallthrough
	case byPeerClose:
		text += w.errorText(peer.Close())
	}
	return text
}

// time is a deadline.
func (l diffLimit) time() time.Time { return []time.Time{{}, future, past}[l] }

// bulkSize is more than the kernel's buffers hold.
const bulkSize = 800 << 10

// clear reports whether end e can write and the peer read, with nothing under
// way that way.
func (d *diffRun) clear(e int) bool {
	return d.writes(e) && d.ends[1-e].unread == 0 && d.ends[1-e].readLimit != limitPast
}

// bulk moves more than fits into the buffers, by any way to write, while the
// peer reads.
func (d *diffRun) bulk(o diffOp, e int) {
	if !d.clear(e) {
		d.writeSome(o, e)
		return
	}
	size := bulkSize - int(o.arg)*1001
	how := diffWriters[o.variant(len(diffWriters))]
	d.step(o.name("%s, %d", how.name, size), func(w *diffWorld) string {
		var read string
		reader := w.begin(testrun.Places[int(o.arg)%len(testrun.Places)], func() {
			_, read = w.read(1-e, size, diffReaders[3].do)
		})
		var written string
		w.do(o.place(), func() {
			n, err := w.write(e, size, how.do)
			written = fmt.Sprintf("%d, %s", n, w.errorText(err))
		})
		reader.Wait(w.t)
		return written + "; " + read
	})
}

// How a write into full buffers ends.
const (
	fullDeadline = iota
	fullTimer
	fullDrained
	fullClose
	fullCloseWrite
	fullPeerReset
	fullEndings
)

// fillUp writes until there is no room and then something happens. How much was
// written only the kernel knows; the peer reads as much.
func (d *diffRun) fillUp(o diffOp, e int) {
	m, peer := &d.ends[e], &d.ends[1-e]
	if !d.clear(e) || peer.noWrites {
		d.writeSome(o, e)
		return
	}
	ending := int(o.arg) % fullEndings
	if ending == fullClose && (m.unread > 0 || m.drops) {
		ending = fullDeadline // the peer would be reset and lose what is under way
	}
	if ending == fullCloseWrite && d.unix {
		ending = fullTimer // the kernel does not wake the writer
	}
	how := o.variant(len(diffWriters))
	d.step(o.name("fill by %s, ended by %d", diffWriters[how].name, ending),
		func(w *diffWorld) string { return w.fillUp(o, e, how, ending) })
	switch ending {
	case fullDeadline, fullTimer:
		m.writeLimit = limitNone
	case fullClose:
		d.gone(e)
	case fullCloseWrite:
		d.ended(e)
	case fullPeerReset:
		peer.drops = true
		d.gone(1 - e)
	}
}

func (w *diffWorld) fillUp(o diffOp, e, how, ending int) (text string) {
	c, peer := w.ends[e], w.ends[1-e]
	if ending == fullTimer {
		c.SetWriteDeadline(future)
	}
	var n int
	var err error
	writer := w.begin(o.place(), func() { n, err = w.write(e, bulkSize, diffWriters[how].do) })
	if ending != fullDrained {
		testenv.Await(w.t, writer.Started, "the writer to start")
		// The writer must be stuck in both worlds: then there is no more room.
		testenv.Until(w.t, "full buffers", func() bool { return stuckWriting(w, e, writer) })
	}
	switch ending {
	case fullDeadline:
		text = w.errorText(c.SetWriteDeadline(past))
	case fullTimer:
		text = w.errorText(c.SetWriteDeadline(time.Now().Add(time.Millisecond)))
	case fullClose:
		text = w.errorText(c.Close())
	case fullCloseWrite:
		text = w.errorText(c.CloseWrite())
	case fullPeerReset:
		if t, ok := peer.(diffTCP); ok {
			t.SetLinger(0)
		}
		text = w.errorText(peer.Close())
	case fullDrained:
		var read string
		w.do(testrun.Second, func() { _, read = w.read(1-e, bulkSize, diffReaders[3].do) })
		text = read
	}
	writer.Wait(w.t)
	if ending == fullDeadline || ending == fullTimer {
		text += w.errorText(c.SetWriteDeadline(time.Time{}))
	}
	text += fmt.Sprintf("; all written: %v, some: %v, %s", n == bulkSize, n > 0, w.errorText(err))
	if ending != fullDrained && ending != fullPeerReset {
		p := make([]byte, n)
		_, err := io.ReadFull(peer, p)
		text += fmt.Sprintf("; read back: %s%s", w.errorText(err), w.received(1-e, p))
	}
	return text
}

// stuckWriting reports whether the task has ended or waits for room, which
// there is none of.
func stuckWriting(w *diffWorld, e int, k *testrun.Task) bool {
	if k.Over() {
		return true
	}
	if w.ask(e).events&unix.POLLOUT != 0 || w.ask(1-e).queued == 0 {
		return false // the room may be gone before the first byte has left the writer
	}
	if k.Co != nil {
		return k.Co.State() == coroutine.Waiting
	}
	return true
}

// twoWriters writes from two places at once. What one writes is not torn by the
// other.
func (d *diffRun) twoWriters(o diffOp, e int) {
	if !d.clear(e) {
		d.writeSome(o, e)
		return
	}
	const size = 200 << 10
	how := o.variant(2)
	d.step(o.name("two by %s", diffWriters[how].name), func(w *diffWorld) string {
		var texts [2]string
		var tasks []*testrun.Task
		for i := range texts {
			tasks = append(tasks, w.begin(testrun.Places[(int(o.arg)+i)%len(testrun.Places)],
				func() {
					n, err := diffWriters[how].do(w.ends[e], bytes.Repeat([]byte{byte(i)}, size))
					texts[i] = fmt.Sprintf("%d, %s; ", n, w.errorText(err))
				}))
		}
		p := make([]byte, 2*size)
		var n int
		var err error
		w.do(o.place(), func() { n, err = io.ReadFull(w.ends[1-e], p) })
		testrun.WaitAll(w.t, tasks...)
		first := bytes.Repeat(p[:1], size)
		whole := bytes.Equal(p[:size], first) &&
			bytes.Equal(p[size:], bytes.Repeat([]byte{1 - p[0]&1}, size))
		return fmt.Sprint(texts, n, w.errorText(err), " whole: ", whole)
	})
}
