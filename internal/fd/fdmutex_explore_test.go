package fd

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv/explore"
)

// TestFDMutexEveryOrder runs users of a Mutex, and a Close, in every order of
// their shared accesses. One at a time has the lock, the others get it later or
// find the fd closed, and exactly one use of a closed fd is the last.
func TestFDMutexEveryOrder(t *testing.T) {
	for _, threads := range []string{"- -", "- - -", "- g !", "- c", "o c", "o - c", "- g c",
		"! g c", "o ! c"} {
		t.Run(threads, func(t *testing.T) {
			explore.Run(t, func(w *explore.World) explore.Program {
				return mutexProgram(w, threads)
			}, explore.Limits{Early: 1, Moves: true})
		})
	}
}

// mutexProgram has a thread for each field: "c" closes the fd, and others lock
// and unlock it; "o" by UnlockIfOpen, "!" may be ended by force, "g" is an
// ordinary goroutine.
func mutexProgram(w *explore.World, threads string) explore.Program {
	m := new(Mutex)
	m.Open()
	inside, last := 0, 0
	freed := func(isLast bool) {
		if isLast {
			last++
		}
	}
	closes := strings.Count(threads, "c")
	p := explore.Program{
		State: func(b []byte) []byte {
			b = binary.LittleEndian.AppendUint64(b, m.state.Load())
			if b = append(b, byte(inside), byte(last)); m.queues.Load() != nil {
				b = w.AppendQueue(b, &m.queues.Load()[Read])
			}
			return b
		},
		Check: func(*explore.Thread) string {
			closed := m.state.Load()&mutexOpen == 0 && !m.guard.Held()
			switch q := m.queues.Load(); {
			case inside > 1:
				return "two are inside"
			case closed && q != nil && !q[Read].Empty():
				return "closed, and the queue is not empty"
			}
			return ""
		},
		End: func() string {
			if m.state.Load() != uint64(mutexOpen*(1-closes)) || last != closes {
				return fmt.Sprintf("state %#x, %d were the last", m.state.Load(), last)
			}
			return ""
		},
	}
	for _, kind := range strings.Fields(threads) {
		p.Threads = append(p.Threads, func(th *explore.Thread) {
			th.Stoppable, th.Goroutine = kind == "!", kind == "g"
			th.Step("begin")
			if kind == "c" {
				m.Close()
				th.Step("unuse")
				freed(m.Unuse())
				return
			}
			if !m.Lock(Read) {
				return
			}
			inside++
			th.Step("inside")
			inside--
			if kind != "o" || !m.UnlockIfOpen(Read) {
				th.Step("unlock")
				freed(m.Unlock(Read))
			}
		})
	}
	return p
}
