// Package cosync has the names that the tests need.
package cosync

import "context"

type (
	Mutex     struct{}
	WaitGroup struct{}
	Group     struct{}
	Once      struct{}
)

func (m *Mutex) Lock()                  {}
func (m *Mutex) Unlock()                {}
func (wg *WaitGroup) Go(f func()) error { return nil }
func (wg *WaitGroup) Wait()             {}
func (g *Group) Go(f func() error)      {}
func (o *Once) Do(f func())             {}
func Wait(ctx context.Context) error    { return nil }
