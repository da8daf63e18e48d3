// Package layout is empty but for tests: they hold the tree as a whole against the rules that no compiler checks.
//
// Who may import whom is the table in docs/ARCHITECTURE.md, which the test reads: that page is the rule. The others are
// tests of their own in layout_test.go. Like Go's own go/build/deps_test.go they work on the source text, all
// platforms' files included, and need neither a build nor the network.
package layout
