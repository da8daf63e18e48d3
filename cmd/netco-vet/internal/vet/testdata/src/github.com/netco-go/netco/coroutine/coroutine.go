// Package coroutine has the names that the tests need.
package coroutine

type Spawn struct {
	Fn    func()
	Name  string
	Local bool
}
