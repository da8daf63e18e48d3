package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netco-go/netco/coroutine"
)

// LockWaits are the coroutines that a walk (coroutine.Range) has found waiting
// for locks. The zero value has none.
type LockWaits struct{ list []LockWait }

// LockWait is a coroutine that waits for a lock.
type LockWait struct {
	coroutine.Info
	By  uint64 // the coroutine that holds the lock
	run uint64 // of the one that waits
}

// Add adds a coroutine if it waits for a lock that another, or itself, is known
// to hold, and nothing but the lock ends the wait.
func (l *LockWaits) Add(i *coroutine.Info) {
	if i.State != coroutine.Waiting || i.OrContext {
		return
	}
	if by := i.Held().By; by != 0 && len(l.list) < mostWaits {
		l.list = append(l.list, LockWait{*i, by, i.Coroutine.Run()})
	}
}

// mostWaits bounds what is kept.
const mostWaits = 1 << 16

// allLockWaits walks over the coroutines of the process.
func allLockWaits() (l LockWaits) {
	coroutine.Range(func(i coroutine.Info) bool {
		l.Add(&i)
		return true
	})
	return l
}

// Circle is a deadlock of some: each coroutine waits for a lock that the next
// holds, and the last for one of the first's. The first has the lowest number.
type Circle []LockWait

// Circles returns all of them by their lowest numbers, after a second walk has
// found each wait unchanged. What one walk reads is of different moments; but a
// coroutine whose wait is the same in both has done nothing in between, and a
// lock that such a one holds in both has not changed hands.
func (l *LockWaits) Circles() []Circle {
	found := l.circles()
	if len(found) == 0 {
		return nil
	}
	again := allLockWaits()
	now := again.byID()
	return slices.DeleteFunc(found, func(c Circle) bool {
		return slices.ContainsFunc(c, func(was LockWait) bool {
			is, ok := now[was.ID]
			return !ok || is.By != was.By || is.run != was.run || is.Since != was.Since
		})
	})
}

func (l *LockWaits) byID() map[uint64]LockWait {
	all := map[uint64]LockWait{}
	for _, w := range l.list {
		all[w.ID] = w
	}
	return all
}

// circles returns those that one walk has found.
func (l *LockWaits) circles() (all []Circle) {
	waits, seen := l.byID(), map[uint64]bool{}
	for _, w := range l.list {
		var path Circle
		for ok := true; ok && !seen[w.ID]; w, ok = waits[w.By] {
			seen[w.ID] = true
			path = append(path, w)
		}
		is := func(p LockWait) bool { return p.ID == w.ID }
		if at := slices.IndexFunc(path, is); at >= 0 {
			all = append(all, path[at:].fromLowest())
		}
	}
	slices.SortFunc(all, func(a, b Circle) int { return cmp.Compare(a[0].ID, b[0].ID) })
	return all
}

// fromLowest returns c turned so that the lowest number comes first.
func (c Circle) fromLowest() Circle {
	lowest := slices.MinFunc(c, func(a, b LockWait) int { return cmp.Compare(a.ID, b.ID) })
	first := slices.IndexFunc(c, func(w LockWait) bool { return w.ID == lowest.ID })
	return slices.Concat(c[first:], c[:first])
}

// String writes it: "2 waits for 3, 3 waits for 2", ten at most, with names.
func (c Circle) String() string {
	const most, mostName = 10, 32
	name := func(w LockWait) string {
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
