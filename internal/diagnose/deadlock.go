package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/stacks"
	"github.com/netco-go/netco/processor"
)

// DeadlockError is scheduler.DeadlockError, which documents the fields.
type DeadlockError struct {
	Count      int
	Coroutines []string

	shown int // coroutines in the lines
}

// Error names the coroutines.
func (e *DeadlockError) Error() string {
	text := fmt.Sprintf("%v: %d coroutines wait for one another: %s",
		ErrDeadlock, e.Count, strings.Join(e.Coroutines, "; "))
	if more := e.Count - e.shown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Is reports whether target is netco.ErrDeadlock.
func (e *DeadlockError) Is(target error) bool { return target == ErrDeadlock }

// The watchdog looks for a deadlock when no Processor has done anything for a
// while. It checks three things:
//
//	picture    every Processor of the process sleeps, before and after, or its
//	           coroutine has the thread; it has run nothing in between; no timer
//	           is set, no fd is watched without a coroutine
//	coroutines each waits for another coroutine or goroutine, or is blocked
//	           outside netco
//	goroutines at one instant all are blocked in Go's channels and locks, and
//	           none in a channel of signals; no timer of Go's is set; after that
//	           the picture is taken again
//
// If the picture and the coroutines are so, a deadlock is suspected: only an
// ordinary goroutine, a timer of Go's, a signal, or C that calls Go could still
// wake a coroutine. If the goroutines are so as well, the deadlock is certain,
// and ends Run. The cheap checks come first: coroutines take some 0.3 µs each,
// up to the first that waits for something else; all goroutines take 5 to 10 µs
// each, with the world stopped.
//
// No Processor notices when an ordinary goroutine ends. So the watchdog checks
// a suspected deadlock again after 1, 2, 4 seconds and so on up to lookFor, and
// then whenever the garbage collector has run, which Go forces every two
// minutes. The checks do not wake an idle process.
const (
	stuckAfter = int64(300 * time.Millisecond) // the first check
	lookFor    = int64(time.Minute)
	mostStuck  = 10_000 // with more coroutines nothing is walked
)

// deadlock is a suspected or certain deadlock.
type deadlock struct {
	all      []coroutine.Info // by number
	outside  bool             // some are blocked outside netco, or wait for a coroutine that may be
	sure     bool             // nothing else could end it
	progress Progress
}

// alike is a group of coroutines that differ only in their IDs.
type alike struct {
	coroutine.Info // of the coroutine with the lowest ID
	count          int
}

// findDeadlock returns the deadlock that is suspected, or nil. onlyCoroutines
// reports whether only coroutines could end a wait.
func findDeadlock(onlyCoroutines func() bool) *deadlock {
	d := &deadlock{progress: ProgressOf(processor.AllRunning())}
	if !d.progress.still() || d.progress.Live > mostStuck {
		return nil
	}
	free := false
	coroutine.Range(func(i coroutine.Info) bool {
		free = len(d.all) == mostStuck || !stuck(&i, d.progress)
		d.all = append(d.all, i)
		d.outside = d.outside || i.State != coroutine.Waiting ||
			i.Reason == coroutine.ReasonBlocking
		return !free
	})
	if free || uint64(len(d.all)) != d.progress.Live {
		return nil
	}
	d.sure = onlyCoroutines()
	if ProgressOf(processor.AllRunning()) != d.progress {
		return nil
	}
	slices.SortFunc(d.all, func(a, b coroutine.Info) int { return cmp.Compare(a.ID, b.ID) })
	return d
}

// lasts reports whether the deadlock is still there and as certain as before,
// and no Processor has done anything. It waits first for actions that no check
// sees: a Processor that steals, a goroutine that is about to block.
func (d *deadlock) lasts() bool {
	time.Sleep(10 * time.Millisecond)
	is := findDeadlock(func() bool { return d.sure && noOther() })
	return is != nil && is.sure == d.sure && is.progress == d.progress
}

// AllStuck returns the coroutines of the process, sorted by ID, if only an
// ordinary goroutine can end any of their waits and at least one coroutine is
// of that group; else none.
func AllStuck(group *processor.Group) []coroutine.Info {
	d := findDeadlock(func() bool { return false })
	if d == nil || d.outside || !slices.ContainsFunc(d.all, func(i coroutine.Info) bool {
		return within(group, &i)
	}) || !d.lasts() {
		return nil
	}
	return d.all
}

// stuck reports whether only other coroutines or goroutines can make a
// coroutine go on. If the running coroutines are blocked outside netco, a ready
// coroutine counts too: it does not get to run.
func stuck(i *coroutine.Info, g Progress) bool {
	switch i.State {
	case coroutine.Waiting:
		return !i.OrContext && (i.Reason.Deadlocks() || i.Reason == coroutine.ReasonBlocking)
	case coroutine.Outside:
		return true
	}
	return !g.Asleep
}

// alike returns the coroutines grouped by likeness, sorted by the lowest IDs.
func (d *deadlock) alike() (list []alike) {
	type key struct {
		name, waitsFor string
		site           uintptr
		state          coroutine.State
		held           coroutine.Held
	}
	at := map[key]int{}
	for _, i := range d.all {
		k := key{i.Name, i.WaitsFor, i.Site, i.State, i.Held()}
		n, known := at[k]
		if !known {
			n = len(list)
			at[k] = n
			i.Resolve()
			list = append(list, alike{Info: i})
		}
		list[n].count++
	}
	return list
}

// mayMoveLater reports whether a deadlock may arise although the group itself
// does nothing: its coroutines wait for others.
func mayMoveLater(group *processor.Group) bool {
	g := ProgressOf(group.Members())
	later := g.still() && g.Live <= mostStuck
	if later {
		coroutine.Range(func(i coroutine.Info) bool {
			later = !within(group, &i) || stuck(&i, g)
			return later
		})
	}
	return later
}

// noOther reports whether only coroutines could wake a coroutine: no timer of
// Go's, no signal and no ordinary goroutine could.
//
// A snapshot of goroutines does not show waits for fds and for signals. noOther
// checks these before and after the snapshot: if both checks agree, they held
// during it.
func noOther() bool {
	waits, any := processor.GoroutinesAtFDs()
	if any || !goruntime.NoTimers() {
		return false
	}
	signal := goruntime.SignalAwaited(stacks.IsBystander)
	all, err := stacks.All(stacks.MaxAll)
	if err != nil {
		return false
	}
	if slices.ContainsFunc(all, isSignalLoop) &&
		(signal || goruntime.SignalAwaited(stacks.IsBystander)) {
		return false
	}
	if now, _ := processor.GoroutinesAtFDs(); now != waits {
		return false
	}
	return goruntime.NoTimers() && !slices.ContainsFunc(all, mayWake)
}

// isSignalLoop reports whether a goroutine is package os/signal's loop, which
// sends the signals. It exists if the package is in use, and is the only
// bystander that cannot mark itself.
func isSignalLoop(g stacks.Stack) bool { return slices.Contains(g.Funcs, "os/signal.loop") }

// forOthers are the states of a goroutine that only another goroutine, a timer
// or, in a channel, a signal can end.
var forOthers = []string{"chan receive", "select", "chan send", "chan receive (nil chan)",
	"chan send (nil chan)", "select (no cases)", "sync.Mutex.Lock", "sync.RWMutex.Lock",
	"sync.RWMutex.RLock", "sync.WaitGroup.Wait", "sync.Cond.Wait"}

// mayWake reports whether a goroutine could end the wait of another, provided
// that no fd and no signal ends its own wait.
func mayWake(g stacks.Stack) bool {
	return !g.Bystander && !isSignalLoop(g) && !slices.Contains(forOthers, g.State)
}

func (d *deadlock) err() *DeadlockError {
	e := &DeadlockError{Count: len(d.all)}
	list := d.alike()
	for _, one := range list[:min(len(list), mostShown)] {
		e.Coroutines = append(e.Coroutines, describe(&one.Info, one.count))
		e.shown += one.count
	}
	return e
}

// report writes the deadlock, with the coroutines' stacks.
func (d *deadlock) report() {
	reports.write("deadlock", func() string {
		var text strings.Builder
		fmt.Fprintf(&text, "deadlock: no timer or connection can wake any of the %d coroutines",
			len(d.all))
		if !d.sure {
			text.WriteString(", unless an ordinary goroutine does")
		}
		text.WriteString(".\n")
		list := d.alike()
		writeAlike(&text, list)
		for _, c := range circles() {
			fmt.Fprintf(&text, "\tin a circle: %v\n", c)
		}
		if slices.ContainsFunc(list, unknownHolder) {
			fmt.Fprintf(&text, "\t%s=on shows which coroutine holds which lock\n",
				coroutine.HoldersVariable)
		}
		fmt.Fprintf(&text, "\t%sLIMITS.md#deadlocks\n", pages)
		return text.String()
	})
}

// writeAlike writes coroutines, with the calls in which they wait.
func writeAlike(text *strings.Builder, list []alike) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	more := 0
	for i := range list {
		one := &list[i]
		if i >= mostShown {
			more += one.count
			continue
		}
		fmt.Fprintf(text, "\tcoroutine %s\n", describe(&one.Info, one.count))
		stack, err := one.Stack(ctx)
		if err != nil {
			continue
		}
		for _, f := range userFrames(framesOf(stack)) {
			fmt.Fprintf(text, "\t\t%s\n", place(f.File, f.Line, f.Function))
		}
	}
	if more > 0 {
		fmt.Fprintf(text, "\tand %d more\n", more)
	}
}

// unknownHolder reports whether coroutines wait for a lock whose holder is not
// known.
func unknownHolder(a alike) bool {
	return a.State == coroutine.Waiting && a.Reason == coroutine.ReasonLock &&
		a.Held() == coroutine.Held{}
}

// Circles returns the circles that the watchdog found last; none after Stop.
func (o *Observer) Circles() []Circle {
	d := o.dog.Load()
	if d == nil {
		return nil
	}
	d.mu.Lock()
	stopped := d.stopped
	d.mu.Unlock()
	if all := d.circles.Load(); all != nil && !stopped {
		return *all
	}
	return nil
}

// lookForCircles looks for deadlocks of some of the Scheduler's coroutines, and
// reports new ones. It costs as much as a walk over all coroutines.
func (d *watchdog) lookForCircles() {
	all := Circles(d.group)
	before := d.circles.Swap(&all)
	for _, c := range all {
		known := before != nil && slices.ContainsFunc(*before, func(b Circle) bool {
			return b.String() == c.String()
		})
		if !known && !d.all {
			d.announce(c.report, "deadlock of some", zap.Stringer("circle", c))
		}
	}
}

// announce logs line, or calls report to write to stderr, as the Scheduler's
// options say.
func (d *watchdog) announce(report func(), line string, fields ...zap.Field) {
	switch {
	case d.o.cfg.Logs:
		d.report(func() { d.o.cfg.Logger.Error(line, fields...) })
	case d.o.reporting():
		d.report(report)
	}
}

// report writes the circle, with the coroutines' stacks.
func (c Circle) report() {
	reports.write("deadlock of some", func() string {
		list := make([]alike, len(c))
		for i := range c {
			c[i].Resolve()
			list[i] = alike{c[i].Info, 1}
		}
		var text strings.Builder
		fmt.Fprintf(&text, "deadlock of %d coroutines, while others go on.\n", len(c))
		writeAlike(&text, list)
		fmt.Fprintf(&text, "\tin a circle: %v\n\t%sLIMITS.md#deadlocks\n", c, pages)
		return text.String()
	})
}

// runs are the calls of Run under way, of all Schedulers: a deadlock concerns
// all of them.
var runs struct {
	mu   sync.Mutex
	list []chan *DeadlockError // capacity 1
}

// Running records a call of Run. It returns a channel that receives when a
// deadlock ends the call, and a function to call when Run is over.
func Running() (stuck <-chan *DeadlockError, over func()) {
	c := make(chan *DeadlockError, 1)
	runs.mu.Lock()
	defer runs.mu.Unlock()
	runs.list = append(runs.list, c)
	return c, func() {
		runs.mu.Lock()
		defer runs.mu.Unlock()
		runs.list = slices.DeleteFunc(runs.list, func(one chan *DeadlockError) bool {
			return one == c
		})
	}
}

// EndRuns ends the calls of Run under way and returns how many there are.
func EndRuns(e *DeadlockError) int {
	runs.mu.Lock()
	defer runs.mu.Unlock()
	for _, c := range runs.list {
		select {
		case c <- e:
		default: // that Run is about to return
		}
	}
	return len(runs.list)
}

// look looks for a deadlock, and reports it once. It returns when to look again
// if nothing moves; 0 for never.
func (d *watchdog) look(now int64) (again int64) {
	found := findDeadlock(noOther)
	if d.all = found != nil; d.all {
		e := found.err()
		if text := e.Error(); (found.sure || !found.outside) && text != d.reported {
			d.reported = text
			d.announce(found.report, "deadlock", zap.Int("count", e.Count),
				zap.Strings("coroutines", e.Coroutines), zap.Bool("sure", found.sure))
		}
		if found.sure && now-d.movedAt >= pauseAfter && found.lasts() {
			EndRuns(e)
		}
	}
	if found == nil && !mayMoveLater(d.group) {
		return 0
	}
	if now-d.movedAt < pauseAfter {
		return d.movedAt + pauseAfter
	}
	return now + min(now-d.movedAt, lookFor)
}
