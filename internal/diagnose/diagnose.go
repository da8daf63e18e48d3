// Package diagnose finds and reports problems in a Scheduler: stalls,
// deadlocks, coroutines that block outside netco, coroutines that a forced
// shutdown ended.
//
// A Scheduler passes in the options that concern diagnosis, and its group once
// the group runs. The package reads everything else through the APIs of
// coroutine and processor, on its own goroutines. It takes no lock that a
// Processor takes, except, briefly, the lock of the list of all Processors.
package diagnose

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// Config is the part of a Scheduler's options that concerns diagnosis.
// Constant.
type Config struct {
	Logger   *zap.Logger   // not nil
	Logs     bool          // Logger is the user's and gets what reports would say
	Quiet    bool          // no reports
	Watchdog time.Duration // how long a turn may last; below 0: no watchdog
	OnStall  func(Stall)   // may be nil
}

// Observer observes one Scheduler. Its methods may be called from any thread.
type Observer struct {
	cfg      Config
	handoffs handoffs
	dog      atomic.Pointer[watchdog] // nil before Watch, and if there is to be none
}

// New makes an Observer.
func New(c Config) *Observer { return &Observer{cfg: c} }

// Stop ends the watchdog. It waits for the watchdog's goroutine to end, unless
// the goroutine is in the logger or in the user's function.
func (o *Observer) Stop() { o.dog.Load().stop() }

// reporting reports whether reports go to stderr.
func (o *Observer) reporting() bool { return !o.cfg.Quiet && !o.cfg.Logs }

// ErrDeadlock matches a DeadlockError in errors.Is.
var ErrDeadlock = errors.New("netco: deadlock")

// The most that a line about coroutines holds.
const (
	mostShown = 20
	shownName = 100 // bytes
)

// Forced logs and reports the coroutines that are ended by force: all is their
// number, and some describes some of them.
func (o *Observer) Forced(some []string, all int) {
	if o.reporting() {
		reports.forced(some, all)
	}
	o.cfg.Logger.Warn("coroutines are ended by force",
		zap.Int("count", all), zap.Strings("coroutines", some))
}

// Alive describes the live coroutines of a group that have started, 20 at most.
func Alive(group *processor.Group) (list []string) {
	coroutine.Range(func(i coroutine.Info) bool {
		if !within(group, &i) {
			return true
		}
		i.Resolve()
		list = append(list, describe(&i, 1))
		return len(list) < mostShown
	})
	return list
}

// within reports whether a coroutine is of that group.
func within(group *processor.Group, i *coroutine.Info) bool {
	p, ok := i.Host.(*processor.Processor)
	return ok && p.Group() == group
}

// describe describes a coroutine, which stands for count coroutines that differ
// only in their IDs.
func describe(i *coroutine.Info, count int) string {
	text := named(i.ID, i.Name)
	if count > 1 {
		text += fmt.Sprintf(" and %d more", count-1)
	}
	switch {
	case i.State == coroutine.Outside:
		text += ", blocked outside netco"
	case i.WaitsFor != "":
		text += ", waiting for " + i.WaitsFor + heldBy(i.Held())
	default:
		text += ", " + i.State.String()
	}
	if at := site(i.File, i.Line, i.Func); at != "" {
		text += ", made at " + at
	}
	return text
}

// heldBy returns the continuation of "waits for a lock" that names the holder;
// "" if the holder is not known.
func heldBy(held coroutine.Held) string {
	if held.Goroutine {
		return " that an ordinary goroutine holds"
	}
	if held.By == 0 {
		return ""
	}
	info, lives := coroutine.Find(held.By)
	if !lives {
		return fmt.Sprintf(" that coroutine %d has not unlocked before its end", held.By)
	}
	return " that coroutine " + named(held.By, info.Name) + " holds"
}

// named returns a coroutine's ID and, if it has one, its name.
func named(id uint64, name string) string {
	if name == "" {
		return fmt.Sprint(id)
	}
	return fmt.Sprintf("%d %.*q", id, shownName, name)
}

// site returns the text of Stall.Site.
func site(file string, line int, function string) string {
	if file == "" {
		return function
	}
	return fmt.Sprintf("%s:%d %s", file, line, function)
}
