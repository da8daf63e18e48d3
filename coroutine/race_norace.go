//go:build !race

package coroutine

// The functions of race_race.go in builds without the race detector.

type raceOwner struct{}
type raceWorker struct{}

func (ex *Executor) raceEnter()              { _ = ex.race } // used only in race builds
func (ex *Executor) raceLeave()              {}
func (ex *Executor) setLeftBehind(w *worker) { ex.leftBehind = w }
func (w *worker) setExecutor(e *Executor)    { w.ex = e }
func (w *worker) enter() func()              { return nil }
func (w *worker) raceStart()                 {}
func (w *worker) raceRetire()                {}
func (w *worker) raceGone()                  {}
func (w *worker) raceBegin(*Coroutine)       {}
func (w *worker) raceEnd(*Coroutine)         {}
func (w *worker) raceMoved(*Executor)        {}
func (f *fiber) raceAcquire()                {}
func (f *fiber) raceRelease()                {}
func (co *Coroutine) raceNew()               {}
func (co *Coroutine) raceMade()              {}
func (co *Coroutine) raceWake()              {}
func (co *Coroutine) raceWoken()             {}
func (co *Coroutine) raceOver()              {}
func (c *children) raceEnded()               {}

func (a *away) load() uint32            { return a.Load() }
func (t *gTable) slot(i uint64) *worker { return t.slots[i].Load() }
func currentTable() *gTable             { return table.Load() }

// SeeEnds is for race builds.
func (ex *Executor) SeeEnds() {}

// Call returns f(); see race_race.go.
func (ex *Executor) Call(f func() bool) bool { return f() }

// Own is for race builds.
func Own() func() { return nil }
