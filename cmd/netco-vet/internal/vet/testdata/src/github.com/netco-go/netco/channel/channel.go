// Package channel has the names that the tests need.
package channel

import "iter"

type Chan[T any] struct{}

type Case struct{}

func Make[T any](capacity int) *Chan[T]           { return nil }
func (c *Chan[T]) Send(v T)                       {}
func (c *Chan[T]) Recv() (v T, ok bool)           { return }
func (c *Chan[T]) All() iter.Seq[T]               { return nil }
func (c *Chan[T]) Close()                         {}
func (c *Chan[T]) Len() int                       { return 0 }
func (c *Chan[T]) Cap() int                       { return 0 }
func (c *Chan[T]) RecvCase(v *T) Case             { return Case{} }
func (c *Chan[T]) SendCase(v T) Case              { return Case{} }
func Default() Case                               { return Case{} }
func Select(cases ...Case) (index int, err error) { return 0, nil }
