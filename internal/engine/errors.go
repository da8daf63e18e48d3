package engine

import "errors"

// Errors of a Scheduler's methods, which package netco exports.
var (
	ErrStarted     = errors.New("netco: scheduler was started already")
	ErrNotStarted  = errors.New("netco: scheduler is not started")
	ErrNoProcessor = errors.New("netco: no processor has that number")
	ErrInCoroutine = errors.New("netco: would wait for the calling coroutine itself")
)
