package goruntime

import (
	"fmt"
	"runtime"
	"strings"
)

// verified lists the Go releases whose runtime/coro.go has been read and run under this package:
//
//	1.25, 1.26: newcoro(func(*coro)) *coro and coroswitch(*coro); thread and lock counts are compared with those
//	at newcoro, a mismatch throws; coroexit runs deferred and resumes whoever is parked in the coro.
var verified = []string{"go1.25", "go1.26"}

// Verified reports whether the running Go release is one the assembly backend has been verified on.
func Verified() error {
	version := runtime.Version()
	for _, v := range verified {
		rest, ok := strings.CutPrefix(version, v)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == ' ' || rest[0] == '-' || rest[0] == 'r' || rest[0] == 'b') {
			return nil
		}
	}
	return fmt.Errorf("%s is not one of the verified releases %s", version, strings.Join(verified, ", "))
}
