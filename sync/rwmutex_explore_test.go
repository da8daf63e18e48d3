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
//	rm, y     an RUnlock, Unlock too many
//	!, &     behind them: the thread's parks may be ended by shutdown; it is a
//	         goroutine
func (rm *rwModel) run(th *explore.Thread) {
	program := rm.programs[th.ID()]
	th.Stoppable = strings.Contains(program, "!")
	th.Goroutine = strings.Contains(program, "&")
	for _, letter := range strings.TrimRight(program, "!&") {
		th.Step("begin")
		switch letter {
		case 'W':
			rm.lock(th)
			rm.write(th, true)
		case 'R':
			rm.rlock(th)
			rm.read(th, true)
		case 'T':
			rm.write(th, rm.m.LockTimeout(time.Hour) == nil)
		case 'C':
			rm.write(th, rm.m.LockContext(th.Context()) == nil)
		case 'O':
			rm.write(th, rm.m.LockTimeout(0) == nil)
		case 'U':
			rm.read(th, rm.m.RLockTimeout(time.Hour) == nil)
		case 'P':
			rm.read(th, rm.m.RLockTimeout(0) == nil)
		case 'w':
			rm.write(th, rm.m.TryLock())
		case 'r':
			rm.read(th, rm.m.TryRLock())
		case 'x':
			if rm.m.load() < oneReader { // else it would be a reader's
				rm.misuse(th, "sync: RUnlock of unlocked RWMutex", rm.m.RUnlock)
			}
		case 'y':
			rm.misuse(th, "sync: Unlock of unlocked RWMutex", rm.m.Unlock)
		}
	}
}

// lock is Lock, with a step between its two accesses.
func (rm *rwModel) lock(th *explore.Thread) {
	if !rm.m.w.state.CompareAndSwap(quick, quick|locked) {
		rm.m.w.lockSlow()
	}
	th.Step("w locked")
	if rm.m.load() >= oneReader && rm.m.drain(coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// rlock is RLock, with a step between its two accesses.
func (rm *rwModel) rlock(th *explore.Thread) {
	r := rm.m.add(oneReader)
	th.Step("pending")
	if r < oneReader || !rm.m.w.isFree() {
		rm.m.rlockSlow(r)
	}
}

func (rm *rwModel) write(th *explore.Thread, has bool) {
	if !has {
		return
	}
	for _, id := range rm.w.Queue(&rm.m.reading) {
		if rm.passed[id]++; rm.passed[id] > 1 {
			rm.failed = fmt.Sprintf("two writers have passed %d", id)
		}
	}
	rm.writers++
	th.Step("stay inside")
	rm.writers--
	rm.m.release()
}

func (rm *rwModel) read(th *explore.Thread, has bool) {
	rm.passed[th.ID()] = 0
	if !has {
		return
	}
	rm.readers++
	th.Step("stay inside")
	rm.readers--
	rm.m.RUnlock()
}

func (rm *rwModel) misuse(th *explore.Thread, want string, f func()) {
	if got := th.Panics(f); !strings.HasPrefix(fmt.Sprint(got), want) {
		rm.failed = fmt.Sprintf("misuse gave %v, want a panic with %q", got, want)
	}
}

func (rm *rwModel) check(*explore.Thread) string {
	if rm.writers > 1 || rm.writers == 1 && rm.readers > 0 {
		return fmt.Sprintf("%d writers and %d readers are inside", rm.writers, rm.readers)
	}
	return rm.failed
}

func (rm *rwModel) end() string {
	m := &rm.m
	if !m.w.isFree() || m.w.waiters.Load() != noWaiters || m.load() != 0 {
		return fmt.Sprintf("not as new: %b", m.load())
	}
	return ""
}

// seen returns what a thread reads into its local variables by the access op.
func (rm *rwModel) seen(op waitq.Op) uint64 {
	switch op {
	case opState:
		return uint64(rm.m.w.state.Load())
	case opWaiters:
		return uint64(rm.m.w.waiters.Load())
	}
	return uint64(rm.m.load())
}

func (rm *rwModel) appendState(b []byte) []byte {
	m := &rm.m
	b = append(b, byte(m.w.state.Load()), byte(m.w.waiters.Load()), byte(m.w.barges.Load()),
		byte(m.w.noted), byte(rm.readers), byte(rm.writers))
	for _, n := range rm.passed {
		b = append(b, byte(n))
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(m.load()))
	for _, q := range []*waitq.Queue{&m.w.queue, &m.reading, &m.draining} {
		b = rm.w.AppendQueue(b, q)
	}
	return b
}
