package outbox

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	stdsync "sync"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/beside"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

// Policy is what happens to a message when the queue is full.
type Policy uint8

// The policies.
const (
	Wait       Policy = iota // it waits for room
	DropOldest               // the oldest messages are dropped for it
	Disconnect               // the connection is closed
)

// ErrSlow is the error of an Outbox that has closed its connection because the
// peer reads too slowly. It works with errors.Is.
var ErrSlow = errors.New("netco/outbox: the peer reads too slowly")

// Options are the settings of an Outbox. All may be left out.
type Options struct {
	Policy Policy

	// Messages and Bytes are how much may be queued, not counting the messages
	// being written; default 256 and 1 MiB. A message larger than Bytes may be
	// queued alone.
	Messages, Bytes int

	// WriteTimeout is how long the connection may take for the next 64 KiB, or
	// the next message if that is longer, before it is closed; 0 is for ever.
	WriteTimeout time.Duration

	// FlushTimeout is how long Close waits until everything is written; default
	// 5 s, negative: not at all.
	FlushTimeout time.Duration
}

const (
	defaultMessages = 256
	defaultBytes    = 1 << 20
	defaultFlush    = 5 * time.Second
)

// Stats count messages. Every message for which Send returned nil is in Queued,
// Sent or Dropped.
type Stats struct {
	Queued       int    // waiting, or being written
	Sent         uint64 // written
	Dropped      uint64 // by DropOldest, or because the connection has ended
	DroppedBytes uint64
}

// Outbox is the queue of one connection. New returns one.
type Outbox struct {
	// Constant.
	c       net.Conn
	o       Options
	site    uintptr      // of New
	vector  vectorWriter // c, if c can write many pieces at once
	batch   limit        // how much one write takes
	runFunc func()       // b.run

	mu      stdsync.Mutex // never held across a write or a wait
	changed sync.Cond     // of the fields below, for senders and Close; L is mu

	// Under mu. A queue that is not empty has a writer.
	queue    queue
	inFlight int   // messages being written
	writing  bool  // there is a writer
	closing  bool  // Close was called
	err      error // why the connection was closed before Close; for good
	stats    Stats // all but Queued
}

// vectorWriter is implemented by netco's TCP and Unix connections.
type vectorWriter interface {
	WriteBuffers(v *net.Buffers) (int64, error)
}

// limit bounds a number of messages and bytes.
type limit struct{ messages, bytes int }

// The most that one write takes: the kernel's limit for a vector, a record of
// TLS for another stream, one message where each message is a packet.
var (
	vectorBatch = limit{256, 64 << 10}
	copyBatch   = limit{256, 16 << 10}
	singleBatch = limit{1, 0}
)

// New returns an Outbox that writes to c. It does not park. The coroutines that
// it starts show New's caller as the place that started them.
//
//go:noinline
func New(c net.Conn, o Options) *Outbox {
	if o.Messages <= 0 {
		o.Messages = defaultMessages
	}
	if o.Bytes <= 0 {
		o.Bytes = defaultBytes
	}
	if o.FlushTimeout == 0 {
		o.FlushTimeout = defaultFlush
	}
	b := &Outbox{c: c, o: o, site: asm.CallerPC(), batch: singleBatch}
	if isStream(c) {
		b.batch = copyBatch
		switch v := c.(type) {
		case *socket.TCPConn, *socket.UnixConn:
			// Not a type that embeds one of these: it may override Write.
			b.vector, b.batch = v.(vectorWriter), vectorBatch
		}
	}
	b.changed.L = &b.mu
	b.runFunc = b.run
	return b
}

// isStream reports whether several messages may be written as one.
func isStream(c net.Conn) bool {
	addr := c.LocalAddr()
	return addr != nil && (strings.HasPrefix(addr.Network(), "tcp") || addr.Network() == "unix")
}

// Send queues p, which must not be changed any more. With the policy Wait it
// waits for room: a coroutine parks, a goroutine blocks. The error is
// net.ErrClosed after Close, ErrSlow, the error of a failed write, or
// ErrShutdown; with an error p was not queued. If a Local's Inherit panics, so
// does Send; p is queued all the same.
func (o *Outbox) Send(p []byte) error { return o.SendContext(context.Background(), p) }

// SendContext is Send that waits for room until ctx is done; then it returns
// ctx's error. It allocates when it waits.
func (o *Outbox) SendContext(ctx context.Context, p []byte) error {
	o.mu.Lock()
	failed := o.err != nil
	if err := o.makeRoomLocked(ctx, len(p)); err != nil {
		o.mu.Unlock()
		if !failed && errors.Is(err, ErrSlow) {
			o.closeRaw()
		}
		return err
	}
	o.queue.push(p)
	start := !o.writing
	o.writing = true
	o.mu.Unlock()
	if start {
		o.startWriter()
	}
	return nil
}

// startWriter starts a writer for the queue. The writer is a goroutine if a
// Local's Inherit panics.
func (o *Outbox) startWriter() {
	started := false
	defer func() {
		if !started {
			go o.run()
		}
	}()
	beside.Go(o.runFunc, func() {}, o.site)
	started = true
}

// makeRoomLocked makes room for a message of size bytes, as the policy says.
func (o *Outbox) makeRoomLocked(ctx context.Context, size int) error {
	for {
		switch {
		case o.err != nil:
			return o.err
		case o.closing:
			return net.ErrClosed
		case o.queue.fits(size, limit{o.o.Messages, o.o.Bytes}):
			return nil
		}
		switch o.o.Policy {
		case DropOldest:
			o.dropLocked(o.queue.pop())
		case Disconnect:
			o.failLocked(ErrSlow)
			return ErrSlow
		default:
			if err := o.changed.WaitContext(ctx); err != nil {
				return err
			}
		}
	}
}

func (o *Outbox) dropLocked(p []byte) {
	o.stats.Dropped++
	o.stats.DroppedBytes += uint64(len(p))
}

// failLocked ends the Outbox with err, unless it has ended.
func (o *Outbox) failLocked(err error) {
	if o.err == nil {
		o.err = err
	}
	for o.queue.len() > 0 {
		o.dropLocked(o.queue.pop())
	}
	o.changed.Broadcast()
}

// closeRaw closes the innermost connection that NetConn returns, so that a
// write under way fails. It does not wait, unlike Close of a TLS connection,
// which sends a last record.
func (o *Outbox) closeRaw() {
	c := o.c
	for {
		layer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			c.Close()
			return
		}
		c = layer.NetConn()
	}
}

// Stats returns the counts. It does not park.
func (o *Outbox) Stats() Stats {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.stats
	s.Queued = o.queue.len() + o.inFlight
	return s
}

// Close waits until the queued messages are written, up to FlushTimeout, and
// closes the connection. Sends that wait return net.ErrClosed, as do later
// calls. The error is os.ErrDeadlineExceeded if a message was not written in
// time, or the error that closed the connection before. Parks.
func (o *Outbox) Close() error {
	o.mu.Lock()
	if o.closing {
		o.mu.Unlock()
		return net.ErrClosed
	}
	o.closing = true
	o.changed.Broadcast()
	until := time.Now().Add(o.o.FlushTimeout)
	var late error
	for o.unwrittenLocked() && o.err == nil && late == nil {
		late = o.changed.WaitTimeout(time.Until(until))
	}
	if o.unwrittenLocked() && o.err == nil {
		o.cutLocked(late)
	}
	err := o.err
	o.mu.Unlock()
	if err != nil {
		o.closeRaw()
	}
	if failed := o.c.Close(); err == nil && !errors.Is(failed, net.ErrClosed) {
		err = failed
	}
	return err
}

func (o *Outbox) unwrittenLocked() bool { return o.queue.len() > 0 || o.inFlight > 0 }

// cutLocked ends the Outbox with the error late while it has messages to write.
// If all its messages are in one write that then proves to have succeeded,
// there is no error; the result is known once the connection is closed and the
// write has returned.
func (o *Outbox) cutLocked(late error) {
	dropped := o.stats.Dropped
	o.failLocked(late)
	o.mu.Unlock()
	o.closeRaw()
	o.mu.Lock()
	for o.inFlight > 0 {
		if o.changed.WaitTimeout(math.MaxInt64) != nil {
			return
		}
	}
	if o.stats.Dropped == dropped {
		o.err = nil
	}
}

// writerName is the name of the writers' coroutines.
var writerName = "outbox"

// run writes until nothing is queued.
func (o *Outbox) run() {
	coroutine.SetName(&writerName, 0)
	x := works.Get().(*work)
	emptied := false
	defer func() {
		if emptied {
			return
		}
		o.mu.Lock()
		o.failLocked(coroutine.ErrShutdown) // unless the Outbox has ended already
		o.finishLocked(x, 0)
		o.writing = false
		o.mu.Unlock()
		o.c.Close()
	}()
	for o.next(x) {
		n, err := o.write(x)
		o.mu.Lock()
		o.finishLocked(x, n)
		if err != nil {
			o.failLocked(err)
		}
		o.mu.Unlock()
		if err != nil {
			return
		}
	}
	emptied = true
	works.Put(x)
}

// next takes the next batch. If there is none, the writer ends.
func (o *Outbox) next(x *work) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.take(x, o.batch)
	o.inFlight = len(x.messages)
	if o.inFlight == 0 {
		o.writing = false
	}
	o.changed.Broadcast() // there is room, or an end
	return o.writing
}

// finishLocked counts a batch of which n bytes were written.
func (o *Outbox) finishLocked(x *work, n int) {
	for _, size := range x.sizes[:o.inFlight] {
		if n -= size; n >= 0 {
			o.stats.Sent++
		} else {
			o.stats.Dropped++
			o.stats.DroppedBytes += uint64(size)
		}
	}
	o.inFlight = 0
}
