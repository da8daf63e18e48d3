package diff

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestUnified: a diff has all of both texts' lines, in order, and few others.
func TestUnified(t *testing.T) {
	text := func(r *rand.Rand) (s string) {
		for range r.IntN(12) {
			s += string(rune('a'+r.IntN(3))) + "\n"
		}
		return s
	}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		a, b := text(r), text(r)
		var gotA, gotB strings.Builder
		for _, o := range compare(lines(a), lines(b)) {
			if o.kind != '+' {
				gotA.WriteString(o.text)
			}
			if o.kind != '-' {
				gotB.WriteString(o.text)
			}
		}
		if gotA.String() != a || gotB.String() != b {
			t.Fatalf("seed %d: of %q and %q: %q, %q", seed, a, b, gotA.String(), gotB.String())
		}
	}
	long := strings.Repeat("same\n", 20)
	want := "--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n-old\n+new\n same\n same\n same\n" +
		"@@ -19,3 +19,4 @@\n same\n same\n same\n+end\n"
	if got := Unified("x", "old\n"+long, "new\n"+long+"end\n"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
