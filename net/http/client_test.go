package http_test

import (
	"io"
	stdhttp "net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// TestClientMethods: the methods and functions ask as their names say, by the
// default Transport, and a redirect is followed.
func TestClientMethods(t *testing.T) {
	s, _ := counting(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		text, _ := io.ReadAll(r.Body)
		asked := r.Method + " " + r.Header.Get("Content-Type") + " " + string(text)
		w.Header().Set("Asked", strings.TrimSpace(asked))
	})
	defer http.DefaultClient.CloseIdleConnections()
	form := url.Values{"a": {"b"}}
	testrun.Start(t, 2)
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		p.Do(t, func() {
			for want, ask := range map[string]func() (*http.Response, error){
				"GET":  func() (*http.Response, error) { return http.Get(s.URL) },
				"HEAD": func() (*http.Response, error) { return http.Head(s.URL) },
				"POST text/plain x": func() (*http.Response, error) {
					return http.Post(s.URL, "text/plain", strings.NewReader("x"))
				},
				"POST application/x-www-form-urlencoded a=b": func() (*http.Response, error) {
					return http.PostForm(s.URL, form)
				},
			} {
				resp, err := ask()
				if err != nil {
					t.Error(err)
					continue
				}
				resp.Body.Close()
				testenv.Equal(t, resp.Header.Get("Asked"), want)
			}
			resp, err := http.Post(s.URL+"/moved", "text/plain", strings.NewReader("x"))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			// Go 1.25 keeps the Content-Type.
			method, _, _ := strings.Cut(resp.Header.Get("Asked"), " ")
			testenv.Equal(t, method, "GET")
		})
	})
}

// TestClientTimeout: the error says that the time was over, wherever the wait
// was, as the standard's does.
func TestClientTimeout(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s, _ := counting(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	own := &http.Client{Transport: &http.Transport{}}
	std := &stdhttp.Client{Transport: &stdhttp.Transport{}}
	within := func(c doer, limit time.Duration) doer {
		if c == doer(own) {
			return &http.Client{Transport: own.Transport, Timeout: limit}
		}
		return &stdhttp.Client{Transport: std.Transport, Timeout: limit}
	}
	// ask waits longer until the answer has begun, where there is one.
	ask := func(c doer, path string) (string, bool) {
		for limit := 50 * time.Millisecond; ; limit *= 4 {
			began := false
			resp, err := within(c, limit).Do(testenv.Must(http.NewRequest("GET", s.URL+path, nil)))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
				began = true
			}
			switch {
			case err == nil:
				return "no error", false
			case path == "/head" || began || limit > testenv.Limit:
				return err.Error(), os.IsTimeout(err)
			}
		}
	}
	testrun.Start(t, 2)
	for _, path := range []string{"/head", "/body"} {
		want, _ := ask(std, path)
		testrun.Each(t, func(t *testing.T, p testrun.Place) {
			p.Do(t, func() {
				if got, timeout := ask(own, path); got != want || !timeout {
					t.Errorf("%s: %s, a timeout: %v, want %s", path, got, timeout, want)
				}
			})
		})
	}
}

// TestAsStandardClient: a library that takes the standard's Client gets one
// with the same Transport.
func TestAsStandardClient(t *testing.T) {
	s, conns := counting(t, hello)
	own := &http.Client{Transport: &http.Transport{}}
	defer own.CloseIdleConnections()
	testrun.With(t, 1, func() {
		testenv.Equal(t, getText(own, s.URL), "hello")
		resp, err := (*stdhttp.Client)(own).Get(s.URL)
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
	})
	testenv.Equal(t, conns.Load(), int64(1))
}
