package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// lockWait is a coroutine that waits for a lock.
type lockWait struct {
	coroutine.Info
	by  uint64 // the coroutine that holds the lock
	run uint64 // of the waiting coroutine
}

// lockWaits returns, by ID, the coroutines of the process whose wait only a
// lock can end, if the lock's holder is known. The holder may be the waiting
// coroutine itself.
func lockWaits() map[uint64]lockWait {
	all := map[uint64]lockWait{}
	coroutine.Range(func(i coroutine.Info) bool {
		if i.State == coroutine.Waiting {
			if by := i.Held().By; by != 0 {
				all[i.ID] = lockWait{i, by, i.Coroutine.Run()}
			}
		}
		return true
	})
	return all
}

// Circle is a deadlock of some coroutines: each waits for a lock that the next
// one in the list holds, and the last waits for a lock of the first. The first
// has the lowest ID.
type Circle []lockWait

// Circles returns the circles whose first coroutine is of that group, sorted by
// their lowest IDs; none if more than mostStuck coroutines live in the process.
func Circles(group *processor.Group) []Circle {
	return slices.DeleteFunc(circles(), func(c Circle) bool { return !within(group, &c[0].Info) })
}

// circles returns the circles of all groups. It walks twice, because one walk
// reads the coroutines at different moments. A coroutine whose wait is the same
// in both walks has done nothing in between, and a lock that it holds in both
// walks has not changed hands.
func circles() []Circle {
	if ProgressOf(processor.AllRunning()).Live > mostStuck {
		return nil
	}
	found := circlesOf(lockWaits())
	if len(found) == 0 {
		return nil
	}
	now := lockWaits()
	return slices.DeleteFunc(found, func(c Circle) bool {
		return slices.ContainsFunc(c, func(was lockWait) bool {
			is, ok := now[was.ID]
			return !ok || is.by != was.by || is.run != was.run || is.Since != was.Since
		})
	})
}

// circlesOf returns the circles in the waits that one walk found.
func circlesOf(waits map[uint64]lockWait) (all []Circle) {
	seen := map[uint64]bool{}
	for _, w := range waits {
		var path Circle
		for ok := true; ok && !seen[w.ID]; w, ok = waits[w.by] {
			seen[w.ID] = true
			path = append(path, w)
		}
		is := func(p lockWait) bool { return p.ID == w.ID }
		if at := slices.IndexFunc(path, is); at >= 0 {
			all = append(all, path[at:].fromLowest())
		}
	}
	slices.SortFunc(all, func(a, b Circle) int { return cmp.Compare(a[0].ID, b[0].ID) })
	return all
}

// Coroutines returns the coroutines of the circle.
func (c Circle) Coroutines() (list []coroutine.Info) {
	for _, w := range c {
		list = append(list, w.Info)
	}
	return list
}

// fromLowest returns c rotated so that the lowest ID comes first.
func (c Circle) fromLowest() Circle {
	lowest := slices.MinFunc(c, func(a, b lockWait) int { return cmp.Compare(a.ID, b.ID) })
	first := slices.IndexFunc(c, func(w lockWait) bool { return w.ID == lowest.ID })
	return slices.Concat(c[first:], c[:first])
}

// String returns, for example, "2 waits for 3, 3 waits for 2", with names, for
// ten coroutines at most.
func (c Circle) String() string {
	const most, mostName = 10, 32
	name := func(w lockWait) string {
		if w.Name == "" {
			return fmt.Sprint(w.ID)
		}
		return fmt.Sprintf("%d %.*q", w.ID, mostName, w.Name)
	}
	var parts []string
	for i, w := range c[:min(len(c), most)] {
		parts = append(parts, name(w)+" waits for "+name(c[(i+1)%len(c)]))
	}
	if more := len(c) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}
