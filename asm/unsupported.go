//go:build !linux || !(amd64 || arm64)

package asm

// A build for any other platform ends here, with this name in its error. No
// other error hides it: every package that would not compile there imports this
// package. docs/RATIONALE.md, "Why only Linux", says why.
var _ = netco_needs_Linux_on_amd64_or_arm64
