//go:build !netco_invariants && !race

// Package invariant switches checks that are too expensive for production. They
// are on in race builds and with the build tag netco_invariants; elsewhere
// Enabled is a false constant and the checks compile to nothing.
package invariant

// Enabled reports whether expensive checks run.
const Enabled = false
