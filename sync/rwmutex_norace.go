//go:build !race

package sync

func (m *RWMutex) load() int64               { return m.readers.Load() }
func (m *RWMutex) cas(old, next int64) bool  { return m.readers.CompareAndSwap(old, next) }
func (m *RWMutex) add(delta int64) (r int64) { return m.readers.Add(delta) }

// The methods below do their work in race builds.

func (m *RWMutex) raceUnlock()  {}
func (m *RWMutex) raceRUnlock() {}
func (m *RWMutex) raceLocked()  {}
func (m *RWMutex) raceRLocked() {}
