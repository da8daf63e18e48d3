//go:build !(amd64 || arm64) || race

package coroutine

// fast is false: the race detector must be told of each switch, and where there is no assembly it cannot be entered.
const fast = false

var (
	pause = pauseGo
	drive func(*hand)
)
