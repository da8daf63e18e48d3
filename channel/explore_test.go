package channel

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/ilist"
	"github.com/netco-go/netco/internal/testenv/explore"
)

// model is two channels, their waiters, and the values sent and received.
type model struct {
	w       *explore.World
	c       [2]*Chan[int]
	waiters [2][]*waiter[int]
	sent    [10]int // by value, which is by thread
	got     [10]int
}

func newModel(w *explore.World, capacity, threads int) *model {
	m := &model{w: w}
	// The order in which they are locked is that of their addresses, and must
	// be the same each time.
	both := new([2]Chan[int])
	for i := range m.c {
		c := &both[i]
		c.buf = make([]int, capacity)
		c.owner.Store(shared) // no thread is an executor's
		for range threads * 2 {
			s := &waiter[int]{c: c}
			m.waiters[i] = append(m.waiters[i], s)
			c.recycleLocked(s)
		}
		m.c[i] = c
	}
	return m
}

func (m *model) state(b []byte) []byte {
	for i, c := range m.c {
		b = append(b, flag(c.closed)|flag(c.guard.Held())<<1, byte(c.head), byte(c.count))
		for _, v := range c.buf {
			b = append(b, byte(v))
		}
		b = append(b, m.number(i, c.free), m.number(i, c.sendq.front()),
			m.number(i, c.recvq.front()))
		for _, s := range m.waiters[i] {
			b = append(b, byte(m.w.Owner(s.w)), byte(s.value),
				flag(s.ok)|flag(s.queued)<<1|flag(s.send)<<2|flag(s.inSelect)<<3|flag(s.chosen)<<4,
				m.number(i, s.Link))
		}
	}
	for i := range m.sent {
		b = append(b, byte(m.sent[i]), byte(m.got[i]))
	}
	return b
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func (m *model) number(c int, s *waiter[int]) byte {
	for i, x := range m.waiters[c] {
		if x == s {
			return byte(i)
		}
	}
	return 255
}

// end returns what is wrong when no thread can move any more.
func (m *model) end() string {
	for i, c := range m.c {
		senders, receivers, spare := 0, 0, 0
		for s := c.sendq.front(); s != nil; s = s.Link {
			senders++
		}
		for s := c.recvq.front(); s != nil; s = s.Link {
			receivers++
		}
		for s := c.free; s != nil; s = s.Link {
			spare++
		}
		switch {
		case senders > 0 && receivers > 0 && c.sendq.front().w != c.recvq.front().w:
			return fmt.Sprintf("channel %d: %d send and %d receive, and all wait", i, senders,
				receivers)
		case receivers > 0 && c.count > 0, senders > 0 && c.count < len(c.buf):
			return fmt.Sprintf("channel %d: %d senders and %d receivers wait, %d values", i,
				senders, receivers, c.count)
		case c.closed && senders+receivers > 0:
			return fmt.Sprintf("channel %d: closed, and %d wait", i, senders+receivers)
		case spare+senders+receivers != len(m.waiters[i]):
			return fmt.Sprintf("channel %d: %d of %d slots left", i, spare+senders+receivers,
				len(m.waiters[i]))
		}
	}
	return m.counts(true)
}

// counts checks that no value was received that was not sent and, once over,
// that all values are accounted for. Before that, a value may have been
// received and its sender not have returned.
func (m *model) counts(over bool) string {
	for v := range m.sent {
		buffered := 0
		for _, c := range m.c {
			for k := range c.count {
				if c.buf[(c.head+k)%len(c.buf)] == v {
					buffered++
				}
			}
		}
		if m.got[v]+buffered > 1 || over && m.got[v]+buffered != m.sent[v] {
			return fmt.Sprintf("value %d: sent %d, received %d, buffered %d", v, m.sent[v],
				m.got[v], buffered)
		}
	}
	return ""
}

// thread runs the operation of a word: s, r, x (select) or k (close), then the
// digits of its channels, then t (bounded), c (by a context), ! (stoppable) or
// g (a goroutine). A select sends to the first channel and receives from the
// second.
func (m *model) thread(v int, word string) func(*explore.Thread) {
	return func(th *explore.Thread) {
		th.MayWait = true
		th.Stoppable = strings.Contains(word, "!")
		th.Goroutine = strings.Contains(word, "g")
		defer func() {
			if p := recover(); p != nil && p != any(sendOnClosed) {
				panic(p)
			}
		}()
		c := m.c[word[1]-'0']
		th.Step("begin")
		switch word[0] {
		case 's':
			m.send(th, word, c, v)
		case 'r':
			m.recv(th, word, c)
		case 'x':
			m.sel(th, word, c, m.c[word[2]-'0'], v)
		case 'k':
			c.Close()
		}
	}
}

func (m *model) send(th *explore.Thread, word string, c *Chan[int], v int) {
	var err error
	switch {
	case strings.Contains(word, "t"):
		err = c.SendTimeout(v, time.Hour)
	case strings.Contains(word, "c"):
		err = c.SendContext(th.Context(), v)
	default:
		c.Send(v)
	}
	if err == nil {
		m.sent[v]++
	}
}

func (m *model) recv(th *explore.Thread, word string, c *Chan[int]) {
	var v int
	var err error
	switch {
	case strings.Contains(word, "t"):
		v, err = c.RecvTimeout(time.Hour)
	case strings.Contains(word, "c"):
		v, err = c.RecvContext(th.Context())
	default:
		var ok bool
		v, ok = c.Recv()
		err = closedError(ok)
	}
	if err == nil {
		m.got[v]++
	}
}

// sel selects between a send of v to c and a receive from d.
func (m *model) sel(th *explore.Thread, word string, c, d *Chan[int], v int) {
	x, i, err := 0, 0, error(nil)
	cases := []Case{c.SendCase(v), d.RecvCase(&x)}
	switch {
	case strings.Contains(word, "t"):
		i, err = SelectTimeout(time.Hour, cases...)
	case strings.Contains(word, "c"):
		i, err = SelectContext(th.Context(), cases...)
	default:
		i, err = Select(cases...)
	}
	switch {
	case err != nil:
	case i == 0:
		m.sent[v]++
	default:
		m.got[x]++
	}
}

// TestEveryOrder runs small programs in every order of their shared accesses.
func TestEveryOrder(t *testing.T) {
	for start := time.Now(); runtime.NumGoroutine() > 2 && time.Since(start) < 5*time.Second; {
		// What other tests have started must not meet the tracer on its last
		// steps.
		time.Sleep(time.Millisecond)
	}
	defer func(r func(int) int) { randn = r }(randn)
	for _, p := range []struct {
		capacity int
		threads  string
		early    int
	}{
		{0, "s0 r0", 2},
		{0, "s0t r0t", 1},
		{0, "s0c! r0g", 1},
		{0, "s0 r0t r0", 0},
		{0, "s0! s0 r0", 0},
		{1, "s0 s0t r0", 1},
		{0, "r0 r0t k0", 1},
		{1, "s0 s0g k0", 1},
		{0, "x01 x10", 1},
		{0, "x00t x00", 1},
		{0, "x01t x10g", 1},
		{0, "x01! s1t", 1},
		{0, "x01 s1 r0", 0},
		{0, "x01t s1 r0", 0},
		{0, "x01 s1 k0", 0},
		{1, "x01 x01 r0", 0},
		{1, "x01c r0t", 1},
		{0, "s0 r0gt", 0},
		{0, "s0gc r0", 0},
		{0, "s1 x01gt", 0},
	} {
		t.Run(fmt.Sprint(p.capacity, " ", p.threads), func(t *testing.T) {
			explore.Run(t, func(w *explore.World) explore.Program {
				words := strings.Fields(p.threads)
				m := newModel(w, p.capacity, len(words))
				randn = w.Choose
				prog := explore.Program{
					State: m.state,
					Check: func(*explore.Thread) string { return m.counts(false) },
					End:   m.end,
				}
				for i, word := range words {
					prog.Threads = append(prog.Threads, m.thread(i+1, word))
				}
				return prog
			}, explore.Limits{Early: p.early, Moves: true})
		})
	}
}

// TestLinksOffset: package ilist depends on it.
func TestLinksOffset(t *testing.T) {
	f, ok := reflect.TypeFor[waiter[int]]().FieldByName("Links")
	if !ok || f.Offset != ilist.Offset {
		t.Errorf("Links: %t, at %d, want %d", ok, f.Offset, ilist.Offset)
	}
}
