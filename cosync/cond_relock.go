package cosync

import (
	"math"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Who waited on a Cond has L locked when Wait returns or unwinds, since deferred calls will unlock it. In a coroutine that is to end by
// force L's Lock would not wait but end it. So this wait is firm ([coroutine.Firmly]): who holds L, be it on its own way out too or none the
// wiser, lets it go as always, and costs nobody anything meanwhile.
//
// An L that is not netco's may know of an end of its own, and have its LockTimeout fail or its Lock end the coroutine. Then this
// tries again and again, and lets others run in between.

// patient is an L that can say so when it is not locked.
type patient interface {
	TryLock() bool
	LockTimeout(time.Duration) error
}

// opInsist is a further attempt to lock L.
const opInsist waitq.Op = "insist on L"

// relock locks L, whatever happens.
func (c *Cond) relock() {
	if l, ok := c.L.(patient); !ok || !l.TryLock() {
		coroutine.Firmly(c.insist)
	}
}

// insist is relock when that may take a wait.
func (c *Cond) insist() {
	l, ok := c.L.(patient)
	if !ok {
		c.relockOther(0)
		return
	}
	if l.LockTimeout(math.MaxInt64) == nil {
		return
	}
	for i := 0; ; i++ {
		waitq.Step(opInsist)
		if l.TryLock() {
			return
		}
		passTime(i)
	}
}

// relockOther is relock for an L whose Lock can end the coroutine: then it goes on in a deferred call, and the coroutine ends when
// L is locked. This is the i-th attempt.
func (c *Cond) relockOther(i int) {
	held := false
	defer func() {
		if held {
			return
		}
		if r := coroutine.Recovered(recover()); r != nil {
			panic(r)
		}
		passTime(i)
		c.relockOther(i + 1)
	}()
	c.L.Lock()
	held = true
}

// passTime lets others run after the i-th attempt, those of this thread and then, for up to 10 ms, those of others.
func passTime(i int) {
	coroutine.Pass()
	time.Sleep(time.Duration(min(i*i, 10_000)) * time.Microsecond)
}
