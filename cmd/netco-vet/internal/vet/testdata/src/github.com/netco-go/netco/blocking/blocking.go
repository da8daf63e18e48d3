// Package blocking has the names that the tests need.
package blocking

import "context"

func Do(ctx context.Context, fn func()) error                          { return nil }
func Call[T any](ctx context.Context, fn func() (T, error)) (T, error) { return fn() }
