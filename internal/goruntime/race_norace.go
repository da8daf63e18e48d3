//go:build !race

package goruntime

import "unsafe"

// RaceEnabled reports whether this is a race build.
const RaceEnabled = false

// TurnsOrder is for race builds.
var TurnsOrder bool

// RaceContext is the detector's identity of a goroutine.
type RaceContext uintptr

// The functions below do nothing without the detector, see race_race.go.

func RaceRelease(unsafe.Pointer)                      {}
func RaceReleaseMerge(unsafe.Pointer)                 {}
func RaceAcquire(unsafe.Pointer)                      {}
func FindRace() error                                 { return nil }
func OwnRaceContext() RaceContext                     { return 0 }
func SwapRaceContext(RaceContext) RaceContext         { return 0 }
func SetRaceContext(uintptr, RaceContext)             {}
func NewRaceContext(RaceContext, uintptr) RaceContext { return 0 }
func EndRaceContext(RaceContext)                      {}
func RaceFresh(unsafe.Pointer, uintptr)               {}
func RaceReadRange(unsafe.Pointer, int)               {}
func RaceWriteRange(unsafe.Pointer, int)              {}
