// Package sync has the names that the tests need.
package sync

type (
	Mutex     struct{}
	WaitGroup struct{}
)

func (m *Mutex) Lock()            {}
func (m *Mutex) Unlock()          {}
func (wg *WaitGroup) Go(f func()) {}
func (wg *WaitGroup) Wait()       {}
