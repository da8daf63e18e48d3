package socket_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

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
				sent, failed = unix.SendmsgN(int(fd), p, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
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
	d.step(o.name("%s %d", how.name, n), func(w *diffWorld) (text string) {
		w.do(o.place(), func() {
			var err error
			done, err = w.write(e, n, how.do)
			text = fmt.Sprintf("%d, %s", done, w.tellError(err))
		})
		return text
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
	d.step(o.name("%s %d", diffReaders[how].name, size), func(w *diffWorld) (text string) {
		w.do(o.place(), func() { done, text = w.read(e, size, diffReaders[how].do) })
		return text
	})
	m.unread -= done
}

// read reads by one of diffReaders and describes what came of it.
func (w *diffWorld) read(e, size int, do func(c diffEnd, p []byte) (int, error)) (int, string) {
	p := make([]byte, size)
	n, err := do(w.ends[e], p)
	return n, fmt.Sprintf("%d, %s%s", n, w.tellError(err), w.received(e, p[:n]))
}

// readAll reads what is there by io.ReadFull.
func (d *diffRun) readAll(o diffOp, e int) {
	m := &d.ends[e]
	size := m.unread
	if size > 0 && o.variant(2) == 1 && !d.waitsAfter(e) {
		size++ // and meets the end, or an error
	}
	done := 0
	d.step(o.name("ReadFull %d", size), func(w *diffWorld) (text string) {
		w.do(o.place(), func() { done, text = w.read(e, size, diffReaders[3].do) })
		return text
	})
	m.unread -= done
}

// waitsAfter reports whether a read would wait after all that is there was
// read.
func (d *diffRun) waitsAfter(e int) bool {
	m, peer := d.ends[e], d.ends[1-e]
	return !(m.closed || m.dead || m.noReads || m.readLimit == limitPast || peer.closed || peer.noWrites)
}

// setDeadline sets one of either direction or of both.
func (d *diffRun) setDeadline(o diffOp, e int) {
	m := &d.ends[e]
	set := []struct {
		name string
		to   time.Time
		is   diffLimit
	}{
		{"none", time.Time{}, limitNone}, {"far", future, limitFar}, {"past", past, limitPast}, {"none", time.Time{}, limitNone},
		{"long ago", time.Unix(0, 1), limitPast},
	}[int(o.arg)%5]
	side := o.variant(3)
	d.step(o.name("deadline %d %s", side, set.name), func(w *diffWorld) (text string) {
		c := w.ends[e]
		w.do(o.place(), func() {
			text = w.tellError([]func(time.Time) error{c.SetReadDeadline, c.SetWriteDeadline, c.SetDeadline}[side](set.to))
		})
		return text
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
	d.step(o.name("CloseRead"), func(w *diffWorld) (text string) {
		w.do(o.place(), func() {
			err := w.ends[e].CloseRead()
			ok, text = err == nil, w.tellError(err)
		})
		return text
	})
	d.ends[e].noReads = d.ends[e].noReads || ok
}

func (d *diffRun) closeWrite(o diffOp, e int) {
	ok := false
	d.step(o.name("CloseWrite"), func(w *diffWorld) (text string) {
		w.do(o.place(), func() {
			err := w.ends[e].CloseWrite()
			ok, text = err == nil, w.tellError(err)
		})
		return text
	})
	if ok {
		d.ended(e)
	}
}

func (d *diffRun) closeEnd(o diffOp, e int) {
	d.step(o.name("Close"), func(w *diffWorld) (text string) {
		w.do(o.place(), func() { text = w.tellError(w.ends[e].Close()) })
		return text
	})
	d.gone(e)
}

// reset closes with a reset.
func (d *diffRun) reset(o diffOp, e int) {
	if !d.unix {
		d.step(o.name("SetLinger(0)"), func(w *diffWorld) string {
			return w.tellError(w.ends[e].(diffTCP).SetLinger(0))
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
