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

// FuzzHeap takes three bytes per call: what, which Timer, when.
func FuzzHeap(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		var (
			h      Heap
			m      = model{floor: math.MinInt64}
			timers [fuzzTimers]Timer
			now    int64
			ran    int
		)
		set := func(id int, when int64) {
			h.Set(&timers[id], when)
			m.set(id, when)
		}
		cancel := func(id int) bool {
			got, want := h.Cancel(&timers[id]), m.cancel(id)
			if got != want {
				t.Fatalf("Cancel(%d) %v, want %v", id, got, want)
			}
			return got
		}
		for id := range timers {
			timers[id].Arg = id
			timers[id].F = func(arg any, at int64) {
				ran++
				if err := m.run(id, now); err != nil || arg != id || at != now {
					t.Fatalf("F(%v, %d) at %d: %v", arg, at, now, err)
				}
				onFire(id, now, set, cancel)
			}
		}
		for ; len(data) >= 3; data = data[3:] {
			id, b := int(data[1])%fuzzTimers, data[2]
			switch data[0] % 8 {
			case 0, 1, 2, 3:
				set(id, whenFor(b, now))
			case 4, 5:
				cancel(id)
			case 6, 7:
				limit := id - 16
				if b == 255 {
					now = math.MaxInt64 - 2*100*year // an uptime near the end of time
				} else {
					now += int64(b % 16)
				}
				ran, m.floor = 0, now+1
				n := h.Expire(now, limit)
				m.floor = math.MinInt64
				if n != ran || limit > 0 && n > limit {
					t.Fatalf("Expire(%d, %d) = %d, %d ran", now, limit, n, ran)
				}
				if (limit <= 0 || n < limit) && len(m.list) > 0 && m.list[0].when <= now {
					t.Fatalf("Expire(%d, %d) = %d left %+v", now, limit, n, m.list[0])
				}
			}
			check(t, &h)
			if h.Len() != len(m.list) {
				t.Fatalf("Len %d, want %d", h.Len(), len(m.list))
			}
			at := m.find(id)
			if when, ok := h.deadline(&timers[id]); ok != (at >= 0) || ok &&
				when != m.list[at].when || ok != h.pending(&timers[id]) {
				t.Fatalf("Deadline(%d) = %d, %v, want %v", id, when, ok, m.list)
			}
			if b%4 == 0 {
				continue // Next does deferred work, which other calls must not need
			}
			if when, ok := h.Next(); ok != (len(m.list) > 0) || ok && when != m.list[0].when {
				t.Fatalf("Next %d, %v, want %v", when, ok, m.list)
			}
		}
	})
}
