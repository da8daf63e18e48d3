package goruntime

import (
	"fmt"
	"runtime"
	"strings"
)

// verified lists the Go releases whose runtime/coro.go has been read and run
// under this package:
//
//	1.25, 1.26, 1.27: newcoro(func(*coro)) *coro and coroswitch(*coro); thread
//	and lock counts are compared with those at newcoro, a mismatch throws;
//	coroexit runs deferred and resumes the goroutine parked in the coro.
var verified = []string{"go1.25", "go1.26", "go1.27"}

// Verified returns nil if the assembly backend has been verified on the running
// Go release.
func Verified() error {
	if version := runtime.Version(); !verifiedRelease(version) {
		return fmt.Errorf("%s is not one of the verified releases %s", version,
			strings.Join(verified, ", "))
	}
	return nil
}

// verifiedRelease reports whether version, as runtime.Version returns it, is a
// verified release, or a patch, candidate or vendor's build of one.
func verifiedRelease(version string) bool {
	for _, v := range verified {
		rest, ok := strings.CutPrefix(version, v)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == ' ' || rest[0] == '-' ||
			rest[0] == 'r' || rest[0] == 'b') {
			return true
		}
	}
	return false
}
