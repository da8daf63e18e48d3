// Package objpool has Pool, a free list of objects with a single owner thread.
//
// Engine: the API follows netco's needs from one release to the next, and is
// public only by its folder. It shows what a pool costs when only one thread
// uses it.
//
// # Model
//
// Free objects lie on a stack: Get returns the one put last, which is most
// likely in the cache. If the stack is empty, Get returns the next object of
// the current chunk, and allocates a new chunk once that one is used up, so
// that objects allocated together lie side by side and growth costs one
// allocation per chunk. A Pool keeps a limited number of free objects; beyond
// that Put leaves the object to the garbage collector.
//
// # Contract
//
//   - Single owner: all methods of a Pool are called from one thread or
//     goroutine, or under one lock. There are no locks and no atomics inside.
//     An object may be used anywhere between its Get and its Put.
//   - Get returns an object as its last user left it. Only an object that was
//     never used is zero for certain.
//   - An object is put once per Get, and not touched after. After a second Put
//     the Pool would hand the object out twice. Builds with -race or the tag
//     netco_invariants panic on it, as long as the object is still free.
//   - A chunk is one allocation: the collector frees it when all its objects
//     are unreachable, so one object in use keeps its neighbours' memory (not
//     what they pointed to, if their user cleared it before Put).
//
// Unlike sync.Pool, a Pool is never emptied by the garbage collector, and has
// no per-P bookkeeping.
package objpool
