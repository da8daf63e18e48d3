package explore

import (
	"encoding/binary"

	"github.com/netco-go/netco/coroutine"
)

// appendKey appends what distinguishes this state of the world from others.
func (w *World) appendKey(b []byte) []byte {
	b = w.program.State(b)
	b = append(b, byte(w.early))
	for _, t := range w.threads {
		b = t.appendKey(b)
	}
	return b
}

func (t *Thread) appendKey(b []byte) []byte {
	put := func(v uint64) { b = binary.LittleEndian.AppendUint64(b, v) }
	who := func(wt *coroutine.Waiter) {
		switch id := t.w.Owner(wt); {
		case wt == nil:
			b = append(b, 255)
		case id < 0:
			b = append(b, 254)
		default:
			b = append(b, byte(id))
		}
	}
	flags := byte(0)
	for i, v := range []bool{t.ended, t.waiting, t.woken, t.endless.over} {
		if v {
			flags |= 1 << i
		}
	}
	late := 0
	if t.waiting {
		late = t.ticket - t.prepared
	}
	put(t.at.pc)
	put(t.seen)
	put(t.noted)
	b = append(b, byte(t.steps), byte(t.steps>>8), flags, byte(t.why), byte(late), byte(t.chosen))
	put(uint64(t.waiter.Tag))
	who(t.waiter.Link)
	who(t.waiter.Prev)
	who(t.at.wake)
	who(t.waking)
	if id := t.w.Owner(t.waking); t.waking != nil && id >= 0 {
		b = append(b, byte(t.w.threads[id].ticket-t.wakes))
	}
	return b
}
