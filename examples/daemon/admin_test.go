package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestHosts: the admin address answers only under its own names. Otherwise
// a web page that has given its name the daemon's address (DNS rebinding)
// could read profiles and change the log level.
func TestHosts(t *testing.T) {
	d := start(t, "-admin-hosts", "ops.example, other.example")
	ask := func(method, path, host string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(method, "http://"+d.admin+path, strings.NewReader("level=debug"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(body)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/debug/netco/",
		"/debug/netco/coroutines.json", "/debug/loglevel",
		"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=1"} {
		for host, want := range map[string]int{
			"evil.example": 403, "evil.example:7071": 403, "127.0.0.1.evil.example": 403,
			d.admin: 200, "localhost:7071": 200, "ops.example": 200, "other.example:80": 200,
		} {
			if status, body := ask("GET", path, host); status != want {
				t.Errorf("%s as %s: %d, %.100q", path, host, status, body)
			}
		}
	}
	if status, _ := ask("PUT", "/debug/loglevel", "evil.example"); status != 403 {
		t.Errorf("the log level is changed: %d", status)
	}
	if _, body := ask("GET", "/debug/loglevel", d.admin); !strings.Contains(body, "info") {
		t.Errorf("the log level is %q", body)
	}
}

// TestEndAtStart: what a signal has made drain while it was starting does not
// get ready afterwards.
func TestEndAtStart(t *testing.T) {
	for _, drains := range []bool{false, true} {
		h := &health{s: &service{config: &config{maxConns: 1}}, sched: testenv.Must(scheduler.New(
			scheduler.Options{}))}
		if drains {
			h.enter(draining)
		}
		if began, err := h.begin(), h.ready(); began == drains || (err != nil) != drains {
			t.Errorf("drains: %t; has begun: %t, readiness: %v", drains, began, err)
		}
	}
}
