package http

import (
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestContentType: a body that contentType takes for text is text for
// DetectContentType, also with each byte in the first places, where signatures
// begin, and with the signature that begins anywhere.
func TestContentType(t *testing.T) {
	same := func(s string) {
		t.Helper()
		if got, want := contentType([]byte(s)), DetectContentType([]byte(s)); got != want {
			t.Errorf("%q is %s, not %s", s, got, want)
		}
	}
	for _, rest := range []string{"", "ello, world", strings.Repeat("x", 33) + "LP, a font",
		"F87a", "TF-8", "\x00\x00\x00\x0cftypmp4", strings.Repeat("x", 600) + "\x00"} {
		for b := range 256 {
			same(string([]byte{byte(b)}) + rest)
			same("h" + string([]byte{byte(b)}) + rest)
			same(string([]byte{byte(b), byte(b)}) + rest)
		}
	}
	for _, begins := range []string{"true", "wOFF", "wOF2", "ttcf", "<html>", "%PDF-", "GIF87a",
		"BM", "RIFF", "ID3", "OggS\x00", "Rar!\x1A\x07\x00", "PK\x03\x04", "OTTO", ".snd", "FORM"} {
		same(begins)
		same(" " + begins + " and more")
	}
	testenv.Equal(t, contentType([]byte("hello")), "text/plain; charset=utf-8")
}
