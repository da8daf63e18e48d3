package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/stacks"
	"github.com/netco-go/netco/processor"
)

// ErrDeadlock is what Run returns when all coroutines wait for one another; the
// error is a *DeadlockError.
var ErrDeadlock = errors.New("netco: deadlock")

// DeadlockError describes a deadlock: all coroutines of the process wait for
// locks, channels, groups or one another, without a timer, a context or an fd
// that could end a wait, and no ordinary goroutine is there that could.
type DeadlockError struct {
	Count      int      // coroutines
	Coroutines []string // the first 20: number, name, what it waits for, where it was made
}

// Error names the coroutines.
func (e *DeadlockError) Error() string {
	text := fmt.Sprintf(
		"%v: %d coroutines wait for one another: %s",
		ErrDeadlock,
		e.Count,
		strings.Join(e.Coroutines, "; "),
	)
	if more := e.Count - len(e.Coroutines); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Is reports whether target is ErrDeadlock.
func (e *DeadlockError) Is(target error) bool { return target == ErrDeadlock }

// A deadlock is looked for by the watchdog, when nothing has moved for a while:
// first to report it, and later, before the watchdog pauses, to end Run. It
// costs some 0.3 µs for each coroutine, but the first that waits for something
// else ends it.
//
//	picture    every Processor of the process sleeps, before and after, and has
//	           run nothing in between; no timer is set, no fd is watched without
//	           a coroutine
//	coroutines all wait for what only another coroutine or goroutine ends
//	goroutines all others are netco's own, or wait for netco's coroutines;
//	           after that the picture is taken again, for a goroutine may have
//	           woken a coroutine and ended meanwhile
//
// What cannot be seen is a time.AfterFunc that would end a wait. So a deadlock
// is reported, as a suspicion, after stuckAfter, and ends Run after pauseAfter.
const (
	stuckAfter = int64(300 * time.Millisecond)
	mostStuck  = 10_000 // coroutines; more are not walked
)

// deadlock is what was found.
type deadlock struct {
	all      int
	some     []coroutine.Info // shownForced at most, by number
	sure     bool             // no ordinary goroutine could end it
	progress engine.Progress
}

// findDeadlock returns nil if there is none. alone reports whether there is no
// ordinary goroutine that could end a wait.
func findDeadlock(alone func() bool) *deadlock {
	d := &deadlock{progress: engine.ProgressOf(processor.AllRunning())}
	if !d.progress.Still() || d.progress.Live > mostStuck {
		return nil
	}
	free := false
	coroutine.Range(func(i coroutine.Info) bool {
		if d.all++; d.all > mostStuck || !engine.Stuck(&i) {
			free = true
			return false
		}
		d.some = append(d.some, i)
		return true
	})
	if free || uint64(d.all) != d.progress.Live {
		return nil
	}
	d.sure = alone()
	if engine.ProgressOf(processor.AllRunning()) != d.progress {
		return nil
	}
	slices.SortFunc(d.some, func(a, b coroutine.Info) int { return int(int64(a.ID - b.ID)) })
	d.some = d.some[:min(len(d.some), shownForced)]
	for i := range d.some {
		d.some[i].Resolve()
	}
	return d
}

// noOther reports whether there is no ordinary goroutine but those of netco and
// of the runtime, and those that wait for coroutines themselves.
func noOther() bool {
	all, err := stacks.All()
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(all, mayWake)
}

// waiting are the calls in which an ordinary goroutine waits for coroutines and
// nothing else.
var waiting = []string{
	module + "scheduler.awaitRun",
	strings.TrimSuffix(module, "/") + ".Main",
	module + "coroutine.(*Waiter).Park",
}

// inRun is a call that starts a coroutine, unless the goroutine waits already.
const inRun = module + "scheduler.(*Scheduler).Run"

// forFD is the call in which an ordinary goroutine waits for an fd.
const forFD = module + "processor.(*PollDesc).WaitFrom"

// mayWake reports whether a goroutine could end a coroutine's wait.
func mayWake(g stacks.Stack) bool {
	if g.State == stacks.Switching { // a coroutine's
		return false
	}
	if slices.Contains(g.Funcs, forFD) { // though it parks as for a coroutine
		return true
	}
	own := false
	for _, f := range g.Funcs {
		if slices.Contains(waiting, f) {
			return g.State == "runnable" || g.State == "running" // it has been woken
		}
		if f == inRun {
			return true
		}
		own = own || strings.HasPrefix(f, "os/signal.") || isOwn(f)
	}
	users := slices.ContainsFunc(
		g.Funcs,
		func(f string) bool { return !isOwn(f) && !coroutine.Standard(f) },
	)
	return users || !own // the standard library's may call what is a user's
}

// isOwn reports whether a function is netco's.
func isOwn(function string) bool {
	root, _ := strings.CutSuffix(module, "/")
	return strings.HasPrefix(function, module) || strings.HasPrefix(function, root+".")
}

func (d *deadlock) err() *DeadlockError {
	e := &DeadlockError{Count: d.all}
	for i := range d.some {
		e.Coroutines = append(e.Coroutines, describe(&d.some[i]))
	}
	return e
}

// report writes what was found, with the coroutines' stacks.
func (d *deadlock) report() {
	reports.write("deadlock", func() string {
		var text strings.Builder
		fmt.Fprintf(
			&text,
			"deadlock: no timer or connection can wake any of the %d coroutines",
			d.all,
		)
		if !d.sure {
			text.WriteString(", unless an ordinary goroutine does")
		}
		text.WriteString(".\n")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		for i := range d.some {
			fmt.Fprintf(&text, "\tcoroutine %s\n", describe(&d.some[i]))
			stack, err := d.some[i].Stack(ctx)
			if err != nil {
				continue
			}
			for _, f := range userFrames(framesOf(stack)) {
				fmt.Fprintf(&text, "\t\t%s\n", place(f.File, f.Line, f.Function))
			}
		}
		if more := d.all - len(d.some); more > 0 {
			fmt.Fprintf(&text, "\tand %d more\n", more)
		}
		if round := circle(d.some); round != nil {
			fmt.Fprintf(&text, "\tin a circle: %s\n", inWords(round))
		}
		if !coroutine.NotesHolders {
			fmt.Fprintf(&text, "\t%s=on shows which coroutine holds which lock\n",
				coroutine.HoldersVariable)
		}
		fmt.Fprintf(&text, "\t%sLIMITS.md#deadlocks\n", pages)
		return text.String()
	})
}

// heldBy continues "waits for a lock": which coroutine has it, "" if that is
// not known.
func heldBy(held coroutine.Held) string {
	if held.Goroutine {
		return " that an ordinary goroutine holds"
	}
	if held.By == 0 {
		return ""
	}
	text := fmt.Sprintf(" that coroutine %d", held.By)
	info, lives := coroutine.Find(held.By)
	if !lives {
		return text + " has not unlocked before its end"
	}
	if info.Name != "" {
		text += fmt.Sprintf(" %.*q", shownName, info.Name)
	}
	return text + " holds"
}

// circle returns the ids of coroutines of which each waits for a lock that the
// next one holds, and the last for the first one's; nil if there are none.
func circle(all []coroutine.Info) []uint64 {
	holder := map[uint64]uint64{}
	for i := range all {
		if by := all[i].Held().By; by != 0 {
			holder[all[i].ID] = by
		}
	}
	for i := range all {
		var path []uint64
		for id := all[i].ID; id != 0; id = holder[id] {
			if at := slices.Index(path, id); at >= 0 {
				return path[at:]
			}
			path = append(path, id)
		}
	}
	return nil
}

// inWords writes a circle: "2 waits for 3, 3 waits for 2".
func inWords(circle []uint64) string {
	var parts []string
	for i, id := range circle {
		parts = append(parts, fmt.Sprintf("%d waits for %d", id, circle[(i+1)%len(circle)]))
	}
	return strings.Join(parts, ", ")
}

// runs are the calls of Run under way.
type runs struct {
	mu   sync.Mutex
	list []chan *DeadlockError // each takes one
}

// add returns a channel that receives when a deadlock ends the call, and what
// to do when it is over.
func (r *runs) add() (stuck <-chan *DeadlockError, over func()) {
	c := make(chan *DeadlockError, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, c)
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list = slices.DeleteFunc(r.list, func(one chan *DeadlockError) bool { return one == c })
	}
}

// end ends all calls.
func (r *runs) end(e *DeadlockError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.list {
		select {
		case c <- e:
		default: // it is about to return
		}
	}
}

// lookStuck looks for a deadlock. The watchdog calls it when nothing has moved
// for stuckAfter, and with last when it is about to pause.
func (d *watchdog) lookStuck(last bool) {
	found := findDeadlock(noOther)
	switch {
	case found == nil:
	case last && found.sure:
		d.s.runs.end(found.err())
	case last:
	case d.s.logs:
		e := found.err()
		d.report(func() {
			d.log.Error(
				"deadlock",
				zap.Int("count", e.Count),
				zap.Strings("coroutines", e.Coroutines),
				zap.Bool("sure", found.sure),
			)
		})
	case d.s.reporting():
		d.report(found.report)
	}
}
