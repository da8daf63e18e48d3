// Package diagnose finds out what is wrong in a Scheduler and says so: stalls,
// coroutines that block outside netco, deadlocks, what an end by force has cut.
//
// A Scheduler hands over its Options' part of it, and its group once that runs.
// All else this package reads through the APIs of coroutine and processor, from
// goroutines of its own; it takes no lock that a Processor takes, but for a
// moment that of the list of all Processors.
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

// Config is what a Scheduler says of itself; the fields are constant.
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

// Stop ends the watchdog. It waits for its goroutine to end, unless that is in
// the logger or in the user's function.
func (o *Observer) Stop() { o.dog.Load().stop() }

// reporting reports whether reports go to stderr.
func (o *Observer) reporting() bool { return !o.cfg.Quiet && !o.cfg.Logs }

// ErrDeadlock is what a DeadlockError is to errors.Is.
var ErrDeadlock = errors.New("netco: deadlock")

// What a line about coroutines holds at most.
const (
	mostShown = 20
	shownName = 100 // bytes
)

// Forced logs and reports which coroutines are ended by force: all of them, of
// which some are described.
func (o *Observer) Forced(some []string, all int) {
	if o.reporting() {
		reports.forced(some, all)
	}
	o.cfg.Logger.Warn("coroutines are ended by force",
		zap.Int("count", all), zap.Strings("coroutines", some))
}

// Alive describes coroutines of a group that have started and live, 20 at most.
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

// describe describes a coroutine, which stands for count that differ
// in nothing but their numbers.
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

// heldBy continues "waits for a lock": which coroutine has it, "" if that is
// not known.
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

// named writes a coroutine's number and, if it has one, its name.
func named(id uint64, name string) string {
	if name == "" {
		return fmt.Sprint(id)
	}
	return fmt.Sprintf("%d %.*q", id, shownName, name)
}

// site is Stall.Site.
func site(file string, line int, function string) string {
	if file == "" {
		return function
	}
	return fmt.Sprintf("%s:%d %s", file, line, function)
}
