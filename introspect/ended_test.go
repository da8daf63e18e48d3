package introspect

import (
	"strings"
	"testing"
)

// TestEnded: a link to a coroutine that has ended leads to a page that says so,
// with what is known of it, and on. It was an error without a way on but to
// the overview.
func TestEnded(t *testing.T) {
	f := newFake(5)
	h := f.handler(Options{})
	text, _ := get(t, h, "/x/coroutine?id=12", 404)
	wellFormed(t, "ended", text)
	for _, want := range []string{"<title>Coroutine 12", "has ended", `href="coroutines"`,
		"5.00 s, syscall", "&lt;b&gt;bold"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	text, _ = get(t, h, "/x/coroutine?id=99&stack=1", 404)
	wellFormed(t, "ended", text)
	if !strings.Contains(text, "<title>Coroutine 99") || strings.Contains(text, "held up") {
		t.Errorf("%s", text)
	}
}
