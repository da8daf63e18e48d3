package goruntime

import "testing"

// TestVerifiedReleases: patch releases, candidates and vendors' builds of a
// verified release are taken, others are not.
func TestVerifiedReleases(t *testing.T) {
	for version, want := range map[string]bool{
		"go1.25": true, "go1.25.0": true, "go1.25.11": true, "go1.26": true, "go1.26.8": true,
		"go1.26rc1": true, "go1.26beta1": true,
		"go1.26-custom": true, "go1.26 X:nocoverageredesign": true,
		"go1.27": true, "go1.27.2": true,
		"go1.24": false, "go1.28": false, "go1.2": false, "go1.251": false, "go1.260": false,
		"go1.26x": false, "go2.26": false,
		"devel go1.28-abc": false, "": false, "go": false,
	} {
		if got := verifiedRelease(version); got != want {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}

func TestFindFuncsMisses(t *testing.T) {
	if got := findFuncs("runtime.coroswitch", "runtime.noSuchFunction"); got != nil {
		t.Errorf("found %x", got)
	}
}
