package socket_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

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
	how := diffWriters[o.variant(len(diffWriters))]
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
	for i := range diffWriters {
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
	how := o.variant(len(diffWriters) + 2)
	name := "from a file"
	if how < len(diffWriters) {
		name = diffWriters[how].name
	}
	d.step(o.name("%s, %d", name, size), func(w *diffWorld) string {
		do := sendDiffFile(w, how == len(diffWriters))
		if how < len(diffWriters) {
			do = diffWriters[how].do
		}
		var read string
		reader := w.begin(testrun.Places[int(o.arg)%len(testrun.Places)], func() {
			_, read = w.read(1-e, size, diffReaders[3].do)
		})
		var written string
		w.do(o.place(), func() {
			n, err := w.write(e, size, do)
			written = fmt.Sprintf("%d, %s", n, w.errorText(err))
		})
		reader.Wait(w.t)
		return written + "; " + read
	})
}

// sendDiffFile writes p by way of a file, or of a part of one.
func sendDiffFile(w *diffWorld, part bool) func(c diffEnd, p []byte) (int, error) {
	return func(c diffEnd, p []byte) (int, error) {
		f, err := os.CreateTemp("", "netco")
		if err != nil {
			return 0, err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		f.Write([]byte("before"))
		f.Write(p)
		f.Write([]byte("after"))
		f.Seek(6, io.SeekStart)
		var r io.Reader = io.LimitReader(f, int64(len(p)))
		if !part {
			f.Truncate(int64(6 + len(p)))
			r = f
		}
		n, err := io.Copy(c, r)
		if at, serr := f.Seek(0, io.SeekCurrent); err == nil && (serr != nil || at != 6+n) {
			err = fmt.Errorf("the file is at %d, %v", at, serr)
		}
		return int(n), err
	}
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
		func(w *diffWorld) string {
			return w.fillUp(o, e, how, ending)
		})
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
