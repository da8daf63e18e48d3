// Package rwmutex has the reader/writer lock on which coroutines and ordinary
// goroutines wait alike.
//
// Engine: users call it sync.RWMutex, of package netco/sync, which makes it of
// its Mutex.
package rwmutex

import "github.com/netco-go/netco/sync"

// RWMutex is sync's.
type RWMutex = sync.RWMutex
