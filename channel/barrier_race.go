//go:build !linux || race

package channel

// canBias reports false: the race detector does not know barriers.
func canBias() bool { return false }

func barrier() {}
