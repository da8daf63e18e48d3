//go:build !race

package rwmutex

// look reads the state.
func (m *RWMutex) look() uint64 { return m.state.Load() }

// swap changes the state from old to next and reports whether it was old.
func (m *RWMutex) swap(old, next uint64) bool { return m.state.CompareAndSwap(old, next) }

// What follows is for race builds.

func (m *RWMutex) raceLock()    {}
func (m *RWMutex) raceUnlock()  {}
func (m *RWMutex) raceRLock()   {}
func (m *RWMutex) raceRUnlock() {}
func (m *RWMutex) raceLocked()  {}
func (m *RWMutex) raceRLocked() {}
