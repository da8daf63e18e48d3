// Package blocking has the names that the tests need.
package blocking

func Do(fn func()) error                          { return nil }
func Call[T any](fn func() (T, error)) (T, error) { return fn() }
