//go:build netco_invariants || race

package objpool

import (
	"fmt"
	"reflect"
)

// checkDoublePut turns the double-put check on, under the same tags as
// internal/invariant. It costs a map operation per Get and Put.
const checkDoublePut = true

// ledger knows which objects are free.
type ledger[T any] struct {
	free map[*T]struct{}
}

func (l *ledger[T]) mustBeOut(x *T) {
	if _, dup := l.free[x]; dup {
		panic(fmt.Sprintf("objpool: double Put of %T %p, which is free already", x, x))
	}
}

func (l *ledger[T]) in(x *T) {
	if reflect.TypeFor[T]().Size() == 0 {
		return // all pointers to zero-size objects may be equal
	}
	if l.free == nil {
		l.free = make(map[*T]struct{})
	}
	l.free[x] = struct{}{}
}

func (l *ledger[T]) out(x *T) { delete(l.free, x) }
