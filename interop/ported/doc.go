// Ported runs the tests of other people's daemons after a literal port to
// netco.
//
// A module is copied from the module cache into a temporary folder and changed
// there by two rules:
//
//   - In files other than tests each go statement becomes a call of netco.Go,
//     with function and arguments evaluated where the statement stands. An error
//     panics, as a go statement cannot fail.
//   - In all files, tests too, the import of package net becomes that of
//     netco/net: a package and its tests share types.
//
// Go's channels, select, packages sync, time and context, dependencies, and the
// go statements of tests stay as they are. A test is thus an ordinary goroutine
// that meets coroutines in channels and over connections.
//
// There are two such kinds of ports. "statements" follows the first rule alone,
// so that coroutines wait in the standard's connections; "net" follows both. A
// third, "vet", is what netco-vet port makes of the module: it changes only the
// go statements that serve connections. What it leaves to a person must be what
// testdata/left has. A fourth, "page", goes on from there as docs/PORTING.md
// shows for three modules: netco-vet -fix, then what is left, by hand. The diffs on
// that page must be what was changed, and netco-vet must report nothing then.
//
// The tests of each run with one Processor and with two, from one binary. A test
// that does not pass counts if it passes in an untouched copy, with the same
// versions of all dependencies and the same language version, which is the one
// that netco requires.
//
// What a module needs besides is in its entry in modules.go, with the reason: a
// test that asks the Internet, a file that hands the standard's types to another
// module, a check for goroutines left over that must not count netco's.
//
//	go run .                                    all of it
//	go run . -modules ssh,turn -run Forwarding  some tests of some modules
//	go run . -ports untouched                   what passes without a port
//	go run . -keep /tmp/ported                  keep what was made
//
// It exits with 1 if a test fails. A module that cannot be downloaded is
// skipped, with a message.
package main
