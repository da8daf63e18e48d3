// Package scheduler has the names that the tests need.
package scheduler

import "github.com/netco-go/netco/coroutine"

type (
	Scheduler struct{}
	Spawn     = coroutine.Spawn
	Handle    struct{}
	Options   struct{ MaxCoroutines int }
)

func (s *Scheduler) Go(fn func()) (Handle, error)    { return Handle{}, nil }
func (s *Scheduler) GoWith(sp Spawn) (Handle, error) { return Handle{}, nil }
