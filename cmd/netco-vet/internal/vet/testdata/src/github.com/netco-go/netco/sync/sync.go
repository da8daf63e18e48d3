// Package sync has the names that the tests need.
package sync

import "context"

type (
	Mutex     struct{}
	WaitGroup struct{}
	Once      struct{}
)

func (m *Mutex) Lock()               {}
func (m *Mutex) Unlock()             {}
func (wg *WaitGroup) Go(f func())    {}
func (wg *WaitGroup) Wait()          {}
func (o *Once) Do(f func())          {}
func Wait(ctx context.Context) error { return nil }

func Async[T any](f func() (T, error)) *T { return nil }
