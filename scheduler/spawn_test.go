package scheduler_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// starter is a way to start a coroutine.
type starter func(fn func()) (coroutine.Handle, error)

// with starts coroutines with the settings of sp.
func with(s *scheduler.Scheduler, sp scheduler.Spawn) starter {
	return func(fn func()) (coroutine.Handle, error) {
		sp.Fn = fn
		return s.GoWith(sp)
	}
}

// on starts coroutines on Processor i.
func on(s *scheduler.Scheduler, i int) starter {
	return with(s, scheduler.Spawn{On: scheduler.OnProcessor(i)})
}

// starters are the ways to start a coroutine of a Scheduler with two Processors
// from anywhere.
func starters(s *scheduler.Scheduler) map[string]starter {
	return map[string]starter{
		"Go":    s.Go,
		"Local": with(s, scheduler.Spawn{Local: true}),
		"On 0":  on(s, 0),
		"On 1":  on(s, 1),
	}
}

// spawnCase is a Spawn for a Scheduler of two Processors. The caller is a
// goroutine, a coroutine of the Scheduler, or a coroutine of another Scheduler.
type spawnCase struct {
	scheduler.Spawn
	caller string
	on     int // noPlace, or the Processor's number
}

const noPlace = 1000

// want returns the error that the Spawn gets: part of its text, or its value.
func (c spawnCase) want() (text string, err error) {
	switch {
	case c.on != noPlace && c.Local:
		return "both Local", nil
	case c.on != noPlace && (c.on < 0 || c.on > 1):
		return "", engine.ErrNoProcessor
	case c.Child && c.caller == "goroutine":
		return "", coroutine.ErrNotCoroutine
	}
	return "", nil
}

// check starts the coroutine, and ends the caller while the coroutine lives.
func (c spawnCase) check(t *testing.T, s, other *scheduler.Scheduler) {
	var begun, over atomic.Bool
	var place, here int
	var name, site string
	var stays, movable, after bool // the coroutine stays; the caller may move, before and after
	c.Fn = func() {
		co := coroutine.Current()
		site, _ = co.Site()
		place, name, site = processor.Current().Index(), co.Name(), filepath.Base(site)
		stays = !co.Movable()
		for begun.Store(true); !over.Load(); {
			processor.Sleep(time.Millisecond)
		}
	}
	text, want := c.want()
	var h coroutine.Handle
	var err error
	start := func() {
		self := coroutine.Current()
		if c.caller == "coroutine" {
			movable, here = self.Movable(), processor.Current().Index()
		}
		h, err = s.GoWith(c.Spawn)
		after = movable && self.Movable()
		for err == nil && !begun.Load() {
			processor.Sleep(time.Millisecond) // the coroutine may need this Processor
		}
	}
	switch c.caller {
	case "goroutine":
		start()
	case "coroutine":
		testenv.Must(s.Go(start)).Join()
	case "another's":
		testenv.Must(other.Go(start)).Join()
	}
	if want != nil || text != "" {
		if h != (coroutine.Handle{}) || want != nil && !errors.Is(err, want) ||
			want == nil && (err == nil || !strings.Contains(err.Error(), text)) {
			t.Errorf("error %v, want %v %s", err, want, text)
		}
		return
	}
	testenv.OK(t, err)
	testenv.Equal(t, h.Done(), c.Child, "ended with its caller")
	over.Store(true)
	h.Join()
	testenv.True(t, name == c.Name && site == "spawn_test.go", "it is %q, started in %s", name,
		site)
	testenv.True(t, (c.on == noPlace || place == c.on) &&
		(!c.Local || c.caller != "coroutine" || place == here), "on Processor %d", place)
	if movable {
		testenv.Equal(t, stays, c.on != noPlace || c.Local, "it stays where it is")
		testenv.Equal(t, after, !c.Local, "its caller may move")
	}
}

// TestGoWith: a coroutine starts as its Spawn says, or the error says which
// setting of the Spawn is impossible.
func TestGoWith(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 2})
	other := start(t, scheduler.Options{Processors: 1})
	for _, caller := range []string{"goroutine", "coroutine", "another's"} {
		for _, i := range []int{noPlace, 0, 1, 2, -1, math.MaxInt, math.MinInt} {
			for bits := range 8 {
				c := spawnCase{caller: caller, on: i}
				c.Local, c.Child = bits&1 != 0, bits&2 != 0
				if bits&4 != 0 {
					c.Name = "clerk"
				}
				if i != noPlace {
					c.On = scheduler.OnProcessor(i)
				}
				t.Run(fmt.Sprintf("%s/on=%d,local=%t,child=%t,%s", caller, i, c.Local, c.Child,
					c.Name), func(t *testing.T) { c.check(t, s, other) })
			}
		}
	}
	testenv.Must(s.Go(func() {
		file, _ := coroutine.Current().Site()
		testenv.Equal(t, filepath.Base(file), "spawn_test.go")
	})).Join()
	for _, s := range []*scheduler.Scheduler{s, other} {
		shutdown(t, s)
		testenv.Equal(t, s.Live(), 0, "live")
	}
}
