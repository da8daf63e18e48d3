// Package layout has nothing but tests, which hold the tree as a whole to the
// rules that no compiler checks.
//
// Which folder may import which is the table in docs/ARCHITECTURE.md, which the
// test reads: that page is the rule. The other rules are functions here, and
// rows of one table: TestRules applies each to the tree, and to a sample that
// breaks it. Like Go's own go/build/deps_test.go they work on the source text,
// all platforms' files included, and need neither a build nor the network.
package layout
