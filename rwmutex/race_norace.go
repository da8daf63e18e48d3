//go:build !race

package rwmutex

func (m *RWMutex) load() int64                 { return m.state.Load() }
func (m *RWMutex) swap(old, next int64) bool   { return m.state.CompareAndSwap(old, next) }
func (m *RWMutex) add(delta int64) (sum int64) { return m.state.Add(delta) }

// The methods below do their work in race builds.

func (m *RWMutex) raceLock()    {}
func (m *RWMutex) raceUnlock()  {}
func (m *RWMutex) raceRLock()   {}
func (m *RWMutex) raceRUnlock() {}
func (m *RWMutex) raceLocked()  {}
func (m *RWMutex) raceRLocked() {}
