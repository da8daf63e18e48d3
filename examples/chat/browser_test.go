package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/netco-go/netco/internal/testenv"
)

// chromium starts a headless Chromium and returns the address of its debugging
// protocol, and what reads its log after its end.
func chromium(t *testing.T) (addr string, log func() string) {
	t.Helper()
	testenv.NeedBrowser(t)
	profile := testenv.Must(os.MkdirTemp("", "netco-chat"))
	cmd := exec.Command("/usr/bin/chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
		"--no-first-run", "--disable-extensions", "--disable-background-networking",
		"--disable-component-update", "--enable-logging=stderr", "--remote-debugging-port=0",
		"--user-data-dir="+profile, "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, in, err := os.Pipe()
	testenv.OK(t, err)
	cmd.Stderr = in
	testenv.OK(t, cmd.Start())
	in.Close()
	var text strings.Builder
	found, read := make(chan string, 1), make(chan bool)
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			text.WriteString(lines.Text() + "\n")
			if _, at, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
				found <- testenv.Must(url.Parse(at)).Host
			}
		}
	}()
	log = sync.OnceValue(func() string {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its own processes, too
		cmd.Wait()
		<-read
		out.Close()
		os.RemoveAll(profile)
		return text.String()
	})
	t.Cleanup(func() { log() })
	return testenv.Await(t, found, "the browser"), log
}

// tab is a page in the browser.
type tab struct {
	t *testing.T
	net.Conn
	calls int
}

func open(t *testing.T, browser, page string) *tab {
	t.Helper()
	client := &http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
	r := testenv.Must(http.NewRequest("PUT", "http://"+browser+"/json/new?"+
		url.QueryEscape(page), nil))
	answer := testenv.Must(client.Do(r))
	defer answer.Body.Close()
	var made struct{ WebSocketDebuggerURL string }
	testenv.OK(t, json.NewDecoder(answer.Body).Decode(&made))
	c, _, _, err := ws.Dial(context.Background(), made.WebSocketDebuggerURL)
	testenv.OK(t, err)
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(5 * limit))
	return &tab{t: t, Conn: c}
}

// eval returns the value of an expression, which is a string.
func (t *tab) eval(expression string) string {
	t.t.Helper()
	t.calls++
	testenv.OK(t.t, wsutil.WriteClientText(t, testenv.Must(json.Marshal(map[string]any{
		"id": t.calls, "method": "Runtime.evaluate",
		"params": map[string]any{"expression": expression}}))))
	for {
		text, err := wsutil.ReadServerText(t)
		testenv.OK(t.t, err)
		var answer struct {
			ID     int
			Result struct{ Result struct{ Value any } }
		}
		testenv.OK(t.t, json.Unmarshal(text, &answer))
		if answer.ID == t.calls {
			value, _ := answer.Result.Result.Value.(string)
			return value
		}
	}
}

// wait waits until the text of an element ends so.
func (t *tab) wait(id, want string) {
	t.t.Helper()
	var got string
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		got = t.eval("document.getElementById('" + id + "')?.textContent || ''")
		if strings.HasSuffix(got, want) {
			return
		}
		if time.Now().After(end) {
			t.t.Fatalf("%s: %q, want %q at its end", id, got, want)
		}
	}
}

// say enters a line as a user does.
func (t *tab) say(line string) {
	t.t.Helper()
	t.eval("document.getElementById('text').value = " + string(testenv.Must(json.Marshal(line))) +
		"; document.getElementById('form').requestSubmit(); ''")
}

// TestBrowser: two pages talk, show markup as text, and come back to their room
// under their names after the connection was lost, or the server did not
// answer.
func TestBrowser(t *testing.T) {
	browser, log := chromium(t)
	s := start(t, nil)
	a := open(t, browser, "http://"+s.web+"/#den")
	a.wait("log", "in den")
	a.say("/nick anna")
	a.wait("me", "anna")
	b := open(t, browser, "http://"+s.web+"/#den")
	b.wait("log", "in den")
	b.say("/nick bert")
	b.wait("me", "bert")
	a.wait("people", "annabert")
	const markup = `<img src=x onerror="document.body.remove()"><b id=evil>`
	a.say(markup)
	b.wait("log", "anna "+markup)
	testenv.Equal(t, b.eval("String(document.querySelector('img, #evil'))"), "null")
	b.say("hello")
	a.wait("log", "bert hello")
	const before = "document.getElementById('state').textContent = 'before'"
	a.eval(before)
	b.eval(before)
	s.mu.Lock()
	for _, c := range s.names {
		c.end(lost)
	}
	s.mu.Unlock()
	for _, p := range []*tab{a, b} {
		p.wait("state", "connected")
		p.wait("room", "den")
		p.wait("people", "annabert")
	}
	b.say("again")
	a.wait("log", "bert again")
	testenv.Equal(t, a.eval("asked = 1; ask(); document.getElementById('state').textContent"),
		"not connected: no answer")
	a.wait("state", "connected")
	a.wait("people", "annabert")
	b.say("once more")
	a.wait("log", "bert once more")
	b.wait("log", "bert once more")

	// The name is taken while it connects, and free again later.
	zombie := s.connect(t, "lines", "zombie")
	a.eval("wantName = 'zombie'; asked = 1; ask(); ''")
	b.wait("log", " joined") // as a guest
	a.wait("room", "den")
	zombie.Close()
	testenv.Until(t, "its end", func() bool { return s.clients() == 2 })
	a.eval("ask(); ''") // which a page does now and then while it is shown
	b.wait("log", " is now zombie")
	if line := testenv.Complaint(log()); line != "" {
		t.Error(line)
	}
}
