package context

import (
	"errors"
	"strings"
	"testing"
)

// TestFallbackSaysSo: a process that falls back to the portable backend, which
// its environment did not ask for, prints exactly one line about that.
func TestFallbackSaysSo(t *testing.T) {
	was := direct
	defer func() { direct = was }()
	direct = false
	cause := errors.New("go9.99 is not one of the verified releases")
	for _, c := range []struct {
		env   string
		err   error
		lines int
	}{
		{"", cause, 1},
		{"", errors.New("self-test: ran [], want [0]"), 1},
		{"asm", cause, 1},
		{"turbo", cause, 2}, // a line about the setting, and a line about the fallback
		{"portable", cause, 0},
		{"", nil, 0},
		{"asm", nil, 0},
	} {
		var stderr strings.Builder
		got := selectBackend(c.env, &stderr, func(bool) error { return c.err })
		text := stderr.String()
		if n := strings.Count(text, "\n"); n != c.lines || n > 0 && !strings.HasSuffix(text, "\n") {
			t.Errorf("%s=%q, %v: stderr %q, want %d lines", EnvVar, c.env, c.err, text, c.lines)
		}
		if c.lines > 0 && (!strings.Contains(text, c.err.Error()) ||
			!strings.Contains(text, BackendPortable) || got != c.err.Error()) {
			t.Errorf("%s=%q, %v: stderr %q, reason %q", EnvVar, c.env, c.err, text, got)
		}
	}
}

// TestSelectBackend: NETCO_CONTEXT selects the portable backend, and a setting
// that names no backend is reported.
func TestSelectBackend(t *testing.T) {
	was := direct
	defer func() { direct = was }()
	direct = false
	var stderr strings.Builder
	if got := selectBackend("portable", &stderr, tryAsm); direct ||
		got != "NETCO_CONTEXT=portable" {
		t.Errorf("portable: direct %v, reason %q", direct, got)
	}
	selectBackend("turbo", &stderr, tryAsm)
	want := "netco: NETCO_CONTEXT=\"turbo\" is neither \"asm\" nor \"portable\"; using the " +
		"default\n"
	if got, _, _ := strings.Cut(stderr.String(), "\n"); got+"\n" != want {
		t.Errorf("stderr %q, want %q", stderr.String(), want)
	}
}

// TestSelfTest: the self-test of the assembly backend passes, also when it is
// repeated.
func TestSelfTest(t *testing.T) {
	needDirect(t)
	for range 20 {
		if err := selfTest(); err != nil {
			t.Fatal(err)
		}
	}
}
