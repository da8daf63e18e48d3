// Package ilist is the engine's intrusive doubly linked list: the links are
// part of the element, so linking it allocates nothing and unlinking it from
// the middle takes constant time.
//
//	type job struct {
//		name string // two words
//		ilist.Links[job]
//	}
//
//	var jobs ilist.List[job]
//	jobs.PushBack(&job{name: "a"})
//
// # Contract
//
// A List has no lock: its user guards it and the links of its elements. An
// element is in one list at a time. The zero List is empty. Front is the oldest
// element if all are added by PushBack.
//
// # Why unsafe is sound
//
// The list reaches the links of an element at a fixed Offset, so Links must
// stand behind the first two words. Each type that embeds Links has a test for
// that. The alternative, and why two words, is in docs/RATIONALE.md: "Why the
// list of waiters uses unsafe".
package ilist

import "unsafe"

// Offset is where Links stand in an element: behind the first two words.
const Offset = 2 * unsafe.Sizeof(uintptr(0))

// Links are the neighbours of an element, nil outside of a list. Embed them at
// Offset.
type Links[E any] struct{ Link, Prev *E }

// List is a list of *E. The zero value is empty.
type List[E any] struct{ front, back *E }

// links returns the links of e. Precondition: E has a Links[E] at Offset.
func links[E any](e *E) *Links[E] { return (*Links[E])(unsafe.Add(unsafe.Pointer(e), Offset)) }

// Empty reports whether the list has no element.
func (l *List[E]) Empty() bool { return l.front == nil }

// Front returns the first element, or nil. Its Link is the next one.
func (l *List[E]) Front() *E { return l.front }

// PushBack adds e at the end. Precondition: e is in no list, its links are nil.
func (l *List[E]) PushBack(e *E) {
	if l.back == nil {
		l.front, l.back = e, e
		return
	}
	links(l.back).Link, links(e).Prev, l.back = e, l.back, e
}

// PushFront adds e at the beginning. Precondition: as of PushBack.
func (l *List[E]) PushFront(e *E) {
	if l.front == nil {
		l.front, l.back = e, e
		return
	}
	links(l.front).Prev, links(e).Link, l.front = e, l.front, e
}

// Remove unlinks e. Precondition: e is in this list.
func (l *List[E]) Remove(e *E) {
	n := links(e)
	if n.Prev == nil {
		l.front = n.Link
	} else {
		links(n.Prev).Link = n.Link
	}
	if n.Link == nil {
		l.back = n.Prev
	} else {
		links(n.Link).Prev = n.Prev
	}
	n.Link, n.Prev = nil, nil
}

// PopFront unlinks the first element and returns it, or nil.
func (l *List[E]) PopFront() *E {
	e := l.front
	if e == nil {
		return nil
	}
	n := links(e)
	if n.Link == nil {
		l.front, l.back = nil, nil
		return e
	}
	links(n.Link).Prev = nil
	l.front, n.Link = n.Link, nil
	return e
}
