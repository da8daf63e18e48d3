package introspect

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestPagesCheckHost: the pages as New makes them cannot be read by DNS
// rebinding; a name in Options.Hosts can.
func TestPagesCheckHost(t *testing.T) {
	s := testenv.Must(scheduler.New(scheduler.Options{}))
	h := New(s, Options{Hosts: []string{"ops.example"}})
	for host, want := range map[string]int{"127.0.0.1:6060": 200, "localhost": 200,
		"ops.example:6060": 200, "evil.example": 403} {
		for _, path := range []string{"/debug/netco/", "/debug/netco/coroutines.json"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s of %q: %d, want %d", path, host, w.Code, want)
			}
		}
	}
}

// TestCheckHost: what a foreign site's name was made to point at this server
// for is refused, whatever the path.
func TestCheckHost(t *testing.T) {
	h := CheckHost(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "secret")
	}), "ops.example")
	for host, want := range map[string]int{
		"127.0.0.1:6060": 200, "127.0.0.1": 200, "[::1]:6060": 200, "[::1]": 200,
		"[fe80::1%eth0]:6060": 200,
		"localhost":           200, "LocalHost:6060": 200, "ops.example:6060": 200,
		"OPS.example": 200, "": 200,
		"evil.example": 403, "evil.example:6060": 403, "localhost.evil.example": 403,
		"127.0.0.1.evil.example:80": 403,
		"ops.example.":              403, "[": 403, ":6060": 403,
	} {
		r := httptest.NewRequest("GET", "/debug/pprof/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want || (w.Body.String() == "secret") != (want == 200) {
			t.Errorf("%q: %d, %q", host, w.Code, w.Body)
		}
	}
}
