package timer

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// model is what a Heap means: a list kept sorted by deadline, then by Set.
type model struct {
	list  []entry
	floor int64 // as in Heap; MinInt64 outside Expire
}

type entry struct {
	when  int64
	id    int
	moved bool // while queued: no promised place among equals
}

func (m *model) find(id int) int {
	return slices.IndexFunc(m.list, func(e entry) bool { return e.id == id })
}

func (m *model) set(id int, when int64) {
	when = max(when, m.floor)
	i := m.find(id)
	if i >= 0 {
		if m.list[i].when == when {
			return
		}
		m.list = slices.Delete(m.list, i, i+1)
	}
	at := slices.IndexFunc(m.list, func(e entry) bool { return e.when > when })
	if at < 0 {
		at = len(m.list)
	}
	m.list = slices.Insert(m.list, at, entry{when, id, i >= 0})
}

func (m *model) cancel(id int) bool {
	i := m.find(id)
	if i >= 0 {
		m.list = slices.Delete(m.list, i, i+1)
	}
	return i >= 0
}

// run removes the Timer that the Heap chose to run at now, and reports what is
// wrong with the choice.
func (m *model) run(id int, now int64) error {
	i := m.find(id)
	if i < 0 {
		return fmt.Errorf("Timer %d ran, and is not queued", id)
	}
	e := m.list[i]
	if e.when != m.list[0].when || e.when > now {
		return fmt.Errorf("Timer %d, for %d, ran at %d before %+v", id, e.when, now, m.list[0])
	}
	for _, before := range m.list[:i] {
		if !e.moved && !before.moved {
			return fmt.Errorf("Timer %d ran before %d, which was set for %d before it", id,
				before.id, e.when)
		}
	}
	m.list = slices.Delete(m.list, i, i+1)
	return nil
}

// fuzzTimers is the number of Timers; what the F of one does depends on its
// number modulo 8.
const fuzzTimers = 64

// whenFor makes a deadline of a byte: mostly near now, some at the ends of the
// range.
func whenFor(b byte, now int64) int64 {
	switch b {
	case 255:
		return math.MaxInt64
	case 254:
		return math.MinInt64
	case 253:
		return now + 100*year
	case 252:
		return now + 61*second
	}
	return now + int64(b%32) - 8
}

// onFire is what the F of Timer id does, to the Heap as to the model.
func onFire(id int, now int64, set func(int, int64), cancel func(int) bool) {
	switch id % 8 {
	case 4:
		set(id, now) // due again at once
	case 5:
		set((id+1)%fuzzTimers, now-3)
		set((id+9)%fuzzTimers, now+5)
	case 6:
		cancel((id + 1) % fuzzTimers)
		cancel((id + 2) % fuzzTimers)
	case 7:
		set(id, now+7)
		cancel(id)
		set(id, now+3)
	}
}

// both are a Heap and its model, to which the same is done.
type both struct {
	t      *testing.T
	h      Heap
	m      model
	timers []Timer
	now    int64
	ran    int // by Expire
}

func newBoth(t *testing.T, timers int) *both {
	b := &both{t: t, m: model{floor: math.MinInt64}, timers: make([]Timer, timers)}
	for id := range b.timers {
		b.timers[id].Arg = id
		b.timers[id].F = func(arg any, at int64) {
			b.ran++
			if err := b.m.run(id, b.now); err != nil || arg != id || at != b.now {
				t.Fatalf("F(%v, %d) at %d: %v", arg, at, b.now, err)
			}
			onFire(id, b.now, b.set, b.cancel)
		}
	}
	return b
}

func (b *both) set(id int, when int64) {
	b.h.Set(&b.timers[id], when)
	b.m.set(id, when)
}

func (b *both) cancel(id int) bool {
	got, want := b.h.Cancel(&b.timers[id]), b.m.cancel(id)
	if got != want {
		b.t.Fatalf("Cancel(%d) %v, want %v", id, got, want)
	}
	return got
}

func (b *both) expire(limit int) {
	b.ran, b.m.floor = 0, b.now+1
	n := b.h.Expire(b.now, limit)
	b.m.floor = math.MinInt64
	if n != b.ran || limit > 0 && n > limit {
		b.t.Fatalf("Expire(%d, %d) = %d, %d ran", b.now, limit, n, b.ran)
	}
	if (limit <= 0 || n < limit) && len(b.m.list) > 0 && b.m.list[0].when <= b.now {
		b.t.Fatalf("Expire(%d, %d) = %d left %+v", b.now, limit, n, b.m.list[0])
	}
}

// agree checks the Heap, and Timer id, against the model.
func (b *both) agree(id int) {
	check(b.t, &b.h)
	if b.h.Len() != len(b.m.list) {
		b.t.Fatalf("Len %d, want %d", b.h.Len(), len(b.m.list))
	}
	at := b.m.find(id)
	if when, ok := b.h.deadline(&b.timers[id]); ok != (at >= 0) || ok &&
		when != b.m.list[at].when || ok != b.h.pending(&b.timers[id]) {
		b.t.Fatalf("Deadline(%d) = %d, %v, want %v", id, when, ok, b.m.list)
	}
}

// next checks Next against the model.
func (b *both) next() {
	if when, ok := b.h.Next(); ok != (len(b.m.list) > 0) || ok && when != b.m.list[0].when {
		b.t.Fatalf("Next %d, %v, want %v", when, ok, b.m.list)
	}
}

// FuzzHeap takes three bytes per call: what, which Timer, when.
func FuzzHeap(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBoth(t, fuzzTimers)
		for ; len(data) >= 3; data = data[3:] {
			id, at := int(data[1])%fuzzTimers, data[2]
			switch data[0] % 8 {
			case 0, 1, 2, 3:
				b.set(id, whenFor(at, b.now))
			case 4, 5:
				b.cancel(id)
			case 6, 7:
				if b.now += int64(at % 16); at == 255 {
					b.now = math.MaxInt64 - 2*100*year // an uptime near the end of time
				}
				b.expire(id - 16)
			}
			b.agree(id)
			if at%4 != 0 { // Next does deferred work, which other calls must not need
				b.next()
			}
		}
	})
}
