package introspect

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// send makes a request that would change something.
func send(h http.Handler, method, url, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	r.Host = "127.0.0.1:6060"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const form = "application/x-www-form-urlencoded"

// TestStop: a coroutine is stopped if that is allowed, and by nothing but an
// operator.
func TestStop(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	s := start(t, scheduler.Options{Processors: 1, Logger: zap.New(core)})
	handle := testenv.Must(s.GoWith(spawn("runaway", func() { processor.Sleep(time.Hour) })))
	forbidden, h := New(s, Options{}),
		New(s, Options{AllowStop: true, Hosts: []string{"admin.example"}})
	testenv.Until(t, "it sleeps", func() bool {
		return getJSON[coroutinesJSON](t, h, "/coroutines.json?reason=sleep").Matched == 1
	})
	id := "id=" + count0(handle.ID())
	for _, c := range []struct {
		name    string
		h       http.Handler
		method  string
		body    string
		status  int
		headers []string
	}{
		{"by default", forbidden, "POST", id, 403, nil},
		{"by a link", h, "GET", id, 405, nil},
		{"of another site", h, "POST", id, 403, []string{"Sec-Fetch-Site", "cross-site", "Origin",
			"https://evil.example"}},
		{"of another origin", h, "POST", id, 403, []string{"Origin", "https://evil.example"}},
		{"of no origin", h, "POST", id, 403, []string{"Origin", "null"}},
		{"under a strange name", h, "POST", id, 403, []string{"Host", "evil.example", "Origin",
			"http://evil.example", "Sec-Fetch-Site", "same-origin"}},
		{"without an id", h, "POST", "", 400, nil},
		{"with a wrong one", h, "POST", "id=x", 400, nil},
		{"of one that is not there", h, "POST", "id=999999999", 404, nil},
		{"with a long body", h, "POST", "x=" + strings.Repeat("1", 1<<20) + "&" + id, 400, nil},
	} {
		url := "/debug/netco/stop"
		if c.method == "GET" {
			url += "?" + c.body
		}
		if w := send(c.h, c.method, url, c.body, append([]string{"Content-Type", form},
			c.headers...)...); w.Code != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, w.Code, c.status, w.Body)
		}
	}
	if handle.Done() {
		t.Fatal("it was stopped although nobody might")
	}
	if text, _ := get(t, forbidden, "/coroutine?"+id, 200); strings.Contains(text, "<button") {
		t.Error("there is a button for what is not allowed")
	}
	w := send(h, "POST", "/debug/netco/stop", id, "Content-Type", form, "Sec-Fetch-Site",
		"same-origin", "Origin", "http://admin.example", "Host", "admin.example")
	if w.Code != 303 || w.Header().Get("Location") != "coroutines" {
		t.Errorf("status %d to %q", w.Code, w.Header().Get("Location"))
	}
	testenv.Until(t, "it has ended", handle.Done)
	testenv.Equal(t, logs.FilterMessage("coroutine stopped by hand").Len(), 1, "logged", logs.All())
}

func count0(n uint64) string { return strings.ReplaceAll(count(n), "\u202f", "") }

// TestCheckHost: what a foreign site's name was made to point at this server
// for is refused, whatever the path: by CheckHost, and by the pages as New
// makes them.
func TestCheckHost(t *testing.T) {
	s := testenv.Must(scheduler.New(scheduler.Options{}))
	pages := New(s, Options{Hosts: []string{"ops.example"}})
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
		w := send(h, "GET", "/debug/pprof/", "", "Host", host)
		if w.Code != want || (w.Body.String() == "secret") != (want == 200) {
			t.Errorf("%q: %d, %q", host, w.Code, w.Body)
		}
		for _, path := range []string{"/debug/netco/", "/debug/netco/coroutines.json"} {
			testenv.Equal(t, send(pages, "GET", path, "", "Host", host).Code, want, path, host)
		}
	}
}
