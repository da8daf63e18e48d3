package sync

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv/explore"
	"github.com/netco-go/netco/internal/waitq"
)

// rwPrograms are the programs of TestRWMutexEveryOrder. What parks that end
// early and ends by force add to a program includes the program without them.
var rwPrograms = []struct {
	programs string // see rwModel.run
	early    int    // how many parks may end early
}{
	{"W W", 2}, {"R W", 1}, {"WW WW", 1}, {"RR WW", 1}, {"WR WR", 1}, {"W! W!", 1}, {"T W", 1},
	{"U W", 1}, {"W W W", 0}, {"R W! R!", 0}, {"W R R!", 0}, {"T T W", 0}, {"T W W", 0},
	{"U W R", 0}, {"T R R", 0}, {"U U W", 0}, {"C W W!", 0}, {"W& T& R&", 0}, {"W& W R&", 0},
	{"O W W", 0}, {"P W W", 0}, {"P R W", 0}, {"w W R", 0}, {"r W R", 0}, {"rw WR", 0},
	{"x W W", 0}, {"x x W", 0}, {"x R W", 0}, {"xx R W", 0}, {"x R W!", 0}, {"y R R", 0},
	{"WW W R", 0}, {"W R! W!", 0}, {"W W R", 0}, {"R R W", 0}, {"W! W! W!", 0}, {"WR RW R", 0},
	{"T W U", 0}, {"T! W!", 1}, {"U! W!", 1}, {"T! U!", 1},
}

// TestRWMutexEveryOrder runs small programs in every order of their shared
// accesses, and checks: mutual exclusion; that no two writers pass a reader
// that waits; that no thread is left waiting and the end can be reached from
// every state; that misuse panics; and that the lock is as new in the end.
func TestRWMutexEveryOrder(t *testing.T) {
	for _, c := range rwPrograms {
		t.Run(strings.ReplaceAll(c.programs, " ", ","), func(t *testing.T) {
			restoreSeams(t)
			explore.Run(t, func(w *explore.World) explore.Program {
				return rwProgram(w, strings.Fields(c.programs))
			}, explore.Limits{Early: c.early})
		})
	}
}

func rwProgram(w *explore.World, programs []string) explore.Program {
	seams(w)
	if len(programs) > 2 {
		starved = func(int64) bool { return false }
		sameThread = func(*coroutine.Waiter) bool { return false }
	}
	x := &rwModel{w: w, programs: programs, passed: make([]int, len(programs))}
	p := explore.Program{State: x.appendState, Seen: x.seen, Check: x.check, End: x.end}
	for range programs {
		p.Threads = append(p.Threads, x.run)
	}
	return p
}

// rwModel is an RWMutex, the programs that use it, and what must be true of
// them.
type rwModel struct {
	m                RWMutex
	w                *explore.World
	programs         []string
	readers, writers int    // inside
	passed           []int  // by thread: writers that got in while it waited to read
	failed           string // what is wrong
}

// run runs a thread's program: a letter per operation.
//
//	W, R     lock, stay a step, unlock, for writing or reading
//	T, U     the same with a timeout, which may come at any time
//	C        W with a context
//	O, P     W, R with no time
//	w, r     the same with TryLock or TryRLock
//	x, y     an RUnlock, Unlock too many
//	!, &     behind them: the thread's parks may be ended by shutdown; it is a
//	         goroutine
func (x *rwModel) run(th *explore.Thread) {
	program := x.programs[th.ID()]
	th.Stoppable = strings.Contains(program, "!")
	th.Goroutine = strings.Contains(program, "&")
	for _, letter := range strings.TrimRight(program, "!&") {
		th.Step("begin")
		switch letter {
		case 'W':
			x.lock(th)
			x.write(th, true)
		case 'R':
			x.rlock(th)
			x.read(th, true)
		case 'T':
			x.write(th, x.m.LockTimeout(time.Hour) == nil)
		case 'C':
			x.write(th, x.m.LockContext(th.Context()) == nil)
		case 'O':
			x.write(th, x.m.LockTimeout(0) == nil)
		case 'U':
			x.read(th, x.m.RLockTimeout(time.Hour) == nil)
		case 'P':
			x.read(th, x.m.RLockTimeout(0) == nil)
		case 'w':
			x.write(th, x.m.TryLock())
		case 'r':
			x.read(th, x.m.TryRLock())
		case 'x':
			if x.m.load() < oneReader { // else it would be a reader's
				x.misuse(th, "sync: RUnlock of unlocked RWMutex", x.m.RUnlock)
			}
		case 'y':
			x.misuse(th, "sync: Unlock of unlocked RWMutex", x.m.Unlock)
		}
	}
}

// lock is Lock, with a step between its two accesses.
func (x *rwModel) lock(th *explore.Thread) {
	if !x.m.w.state.CompareAndSwap(quick, quick|locked) {
		x.m.w.lockSlow()
	}
	th.Step("w locked")
	if x.m.load() >= oneReader && x.m.drain(coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// rlock is RLock, with a step between its two accesses.
func (x *rwModel) rlock(th *explore.Thread) {
	r := x.m.add(oneReader)
	th.Step("pending")
	if r < oneReader || !x.m.w.isFree() {
		x.m.rlockSlow()
	}
}

func (x *rwModel) write(th *explore.Thread, has bool) {
	if !has {
		return
	}
	for _, id := range x.w.Queue(&x.m.reading) {
		if x.passed[id]++; x.passed[id] > 1 {
			x.failed = fmt.Sprintf("two writers have passed %d", id)
		}
	}
	x.writers++
	th.Step("stay inside")
	x.writers--
	x.m.release()
}

func (x *rwModel) read(th *explore.Thread, has bool) {
	x.passed[th.ID()] = 0
	if !has {
		return
	}
	x.readers++
	th.Step("stay inside")
	x.readers--
	x.m.RUnlock()
}

func (x *rwModel) misuse(th *explore.Thread, want string, f func()) {
	if got := th.Panics(f); !strings.HasPrefix(fmt.Sprint(got), want) {
		x.failed = fmt.Sprintf("misuse gave %v, want a panic with %q", got, want)
	}
}

func (x *rwModel) check(*explore.Thread) string {
	if x.writers > 1 || x.writers == 1 && x.readers > 0 {
		return fmt.Sprintf("%d writers and %d readers are inside", x.writers, x.readers)
	}
	return x.failed
}

func (x *rwModel) end() string {
	m := &x.m
	if !m.w.isFree() || m.w.waiters.Load() != noWaiters || m.load() != 0 {
		return fmt.Sprintf("not as new: %b", m.load())
	}
	return ""
}

// seen returns what a thread reads into its local variables by the access op.
func (x *rwModel) seen(op waitq.Op) uint64 {
	switch op {
	case opState:
		return uint64(x.m.w.state.Load())
	case opWaiters:
		return uint64(x.m.w.waiters.Load())
	}
	return uint64(x.m.load())
}

func (x *rwModel) appendState(b []byte) []byte {
	m := &x.m
	b = append(b, byte(m.w.state.Load()), byte(m.w.waiters.Load()), byte(m.w.barges.Load()),
		byte(m.w.noted), byte(x.readers), byte(x.writers))
	for _, n := range x.passed {
		b = append(b, byte(n))
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(m.load()))
	for _, q := range []*waitq.Queue{&m.w.queue, &m.reading, &m.draining} {
		b = x.w.AppendQueue(b, q)
	}
	return b
}
