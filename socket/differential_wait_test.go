package socket_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

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
	d.step(o.name("%d × %s %d, ended by %d", readers, wait.name, size, ending), func(w *diffWorld) string {
		c := w.ends[e]
		if ending == byTimer {
			c.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		}
		texts := make([]string, readers)
		var tasks []*testrun.Task
		for i := range texts {
			k := w.begin(testrun.Places[(int(o.how>>1)+i)%len(testrun.Places)], func() { _, texts[i] = w.read(e, size, wait.do) })
			w.settleIn(k)
			tasks = append(tasks, k)
		}
		text := d.endWait(w, ending, e, size, wait.pieces, tasks[0])
		testrun.WaitAll(w.t, tasks...)
		if ending == byDeadline || ending == byMovedDeadline || ending == byTimer {
			text += w.tellError(c.SetReadDeadline(time.Time{}))
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
func (d *diffRun) endWait(w *diffWorld, ending, e, size, pieces int, reader *testrun.Task) (text string) {
	c, peer := w.ends[e], w.ends[1-e]
	switch ending {
	case byData:
		for i := range pieces {
			n, err := w.write(1-e, size*(i+1)/pieces-size*i/pieces, diffWriters[0].do)
			text += fmt.Sprintf("%d, %s; ", n, w.tellError(err))
			if i < pieces-1 {
				w.settleIn(reader)
			}
		}
	case byDeadline:
		text = w.tellError(c.SetDeadline(past)) + w.tellError(c.SetWriteDeadline(d.ends[e].writeLimit.time()))
	case byMovedDeadline:
		text = w.tellError(c.SetReadDeadline(future)) + w.tellError(c.SetReadDeadline(time.Now().Add(time.Millisecond)))
	case byTimer:
	case byClose:
		text = w.tellError(c.Close())
	case byCloseRead:
		text = w.tellError(c.CloseRead())
	case byPeerCloseWrite:
		text = w.tellError(peer.CloseWrite())
	case byPeerReset:
		if t, ok := peer.(diffTCP); ok {
			text = w.tellError(t.SetLinger(0))
		}
		fallthrough
	case byPeerClose:
		text += w.tellError(peer.Close())
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
		reader := w.begin(testrun.Places[int(o.arg)%len(testrun.Places)], func() { _, read = w.read(1-e, size, diffReaders[3].do) })
		var written string
		w.do(o.place(), func() {
			n, err := w.write(e, size, do)
			written = fmt.Sprintf("%d, %s", n, w.tellError(err))
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
		ending = fullTimer // the kernel does not tell the writer
	}
	how := o.variant(len(diffWriters))
	d.step(o.name("fill by %s, ended by %d", diffWriters[how].name, ending), func(w *diffWorld) string {
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
		text = w.tellError(c.SetWriteDeadline(past))
	case fullTimer:
		text = w.tellError(c.SetWriteDeadline(time.Now().Add(time.Millisecond)))
	case fullClose:
		text = w.tellError(c.Close())
	case fullCloseWrite:
		text = w.tellError(c.CloseWrite())
	case fullPeerReset:
		if t, ok := peer.(diffTCP); ok {
			t.SetLinger(0)
		}
		text = w.tellError(peer.Close())
	case fullDrained:
		var read string
		w.do(testrun.Second, func() { _, read = w.read(1-e, bulkSize, diffReaders[3].do) })
		text = read
	}
	writer.Wait(w.t)
	if ending == fullDeadline || ending == fullTimer {
		text += w.tellError(c.SetWriteDeadline(time.Time{}))
	}
	text += fmt.Sprintf("; all written: %v, some: %v, %s", n == bulkSize, n > 0, w.tellError(err))
	if ending != fullDrained && ending != fullPeerReset {
		p := make([]byte, n)
		_, err := io.ReadFull(peer, p)
		text += fmt.Sprintf("; read back: %s%s", w.tellError(err), w.received(1-e, p))
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
			tasks = append(tasks, w.begin(testrun.Places[(int(o.arg)+i)%len(testrun.Places)], func() {
				n, err := diffWriters[how].do(w.ends[e], bytes.Repeat([]byte{byte(i)}, size))
				texts[i] = fmt.Sprintf("%d, %s; ", n, w.tellError(err))
			}))
		}
		p := make([]byte, 2*size)
		var n int
		var err error
		w.do(o.place(), func() { n, err = io.ReadFull(w.ends[1-e], p) })
		testrun.WaitAll(w.t, tasks...)
		first := bytes.Repeat(p[:1], size)
		whole := bytes.Equal(p[:size], first) && bytes.Equal(p[size:], bytes.Repeat([]byte{1 - p[0]&1}, size))
		return fmt.Sprint(texts, n, w.tellError(err), " whole: ", whole)
	})
}
