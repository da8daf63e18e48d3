//go:build !race

package rwmutex

// look reads the state.
func (m *RWMutex) look() int64 { return m.state.Load() }

// swap changes the state from old to next and reports whether it was old.
func (m *RWMutex) swap(old, next int64) bool { return m.state.CompareAndSwap(old, next) }

// change adds to the state and returns the sum.
func (m *RWMutex) change(delta int64) int64 { return m.state.Add(delta) }

// What follows is for race builds.

func (m *RWMutex) raceLock()    {}
func (m *RWMutex) raceUnlock()  {}
func (m *RWMutex) raceRLock()   {}
func (m *RWMutex) raceRUnlock() {}
func (m *RWMutex) raceLocked()  {}
func (m *RWMutex) raceRLocked() {}
