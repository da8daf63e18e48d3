//go:build race

package coroutine

// The tests of this package have coroutines share variables where one thread
// runs them, and ask the detector about the package's own. What it sees of users'
// is tested in package scheduler.
func init() { turnsOrder = true }
