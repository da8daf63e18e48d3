//go:build !netco_invariants && !race

package objpool

// checkDoublePut is false here, so that the calls it guards are compiled away.
const checkDoublePut = false

type ledger[T any] struct{}

func (*ledger[T]) mustBeOut(*T) {}
func (*ledger[T]) in(*T)        {}
func (*ledger[T]) out(*T)       {}
