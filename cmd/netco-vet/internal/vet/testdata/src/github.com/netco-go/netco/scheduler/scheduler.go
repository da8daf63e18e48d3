// Package scheduler has the names that the tests need.
package scheduler

type (
	Scheduler struct{}
	Spawn     struct{ Fn func() }
	Handle    struct{}
	Options   struct{ MaxCoroutines int }
)

func (s *Scheduler) Go(sp Spawn) (Handle, error) { return Handle{}, nil }
