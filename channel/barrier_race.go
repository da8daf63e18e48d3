//go:build !linux || race

package channel

// canBias reports false: the race detector does not know barriers, and other
// kernels do not have them.
func canBias() bool { return false }

func barrier() {}
