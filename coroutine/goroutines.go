package coroutine

// Goroutines returns the goroutines, as asm.Getg gives them, one of which has the executor's thread: those that co runs on, or the loop's if
// co is nil. There is more than one if co has resumed coroutines driven by hand; all but one then wait in the switch. From any thread; by
// then they may belong to other coroutines. It looks through all goroutines of all executors: some milliseconds for a million.
func (ex *Executor) Goroutines(co *Coroutine) []uintptr {
	if co == nil {
		return []uintptr{ex.loopIs.ctx.G()}
	}
	var found []uintptr
	t := table.Load()
	for i := range t.slots {
		if w := t.slots[i].Load(); w.co.Load() == co {
			found = append(found, w.ctx.G())
		}
	}
	return found
}
