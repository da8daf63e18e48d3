package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// TestMain runs the server itself when a test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("HTTP_CHILD") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// child is the server as a process.
type child struct {
	*testing.T
	cmd *exec.Cmd
	url string
	log string // a file: what it writes to stderr
}

func start(t *testing.T, args ...string) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	args = append([]string{"-addr", "127.0.0.1:0"}, args...)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "HTTP_CHILD=1")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
	return &child{t, cmd, "http://" + addr, log.Name()}
}

// ask returns the status and the body of an answer.
func (ch *child) ask(method, path, body string) (int, string) {
	req, err := http.NewRequest(method, ch.url+path, strings.NewReader(body))
	if err != nil {
		ch.Error(err)
		return 0, ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		ch.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		ch.Error(err)
	}
	return resp.StatusCode, string(text)
}

// want asks, and holds the answer against a status and a part of its body.
func (ch *child) want(method, path, body string, status int, part string) {
	ch.Helper()
	if got, text := ch.ask(method, path, body); got != status || !strings.Contains(text, part) {
		ch.Errorf("%s %s: %d %q, want %d and %q", method, path, got, text, status, part)
	}
}

// end ends the server, which is to succeed.
func (ch *child) end() {
	ch.Helper()
	ch.cmd.Process.Signal(syscall.SIGTERM)
	if err := ch.cmd.Wait(); err != nil {
		ch.Errorf("ended with %v", err)
	}
}

// TestAccessLog: a line for each request says what was asked and answered, by
// which route.
func TestAccessLog(t *testing.T) {
	c := start(t)
	c.want("POST", "/notes", `{"text":"first"}`, 201, "first")
	c.want("GET", "/notes/7", "", 404, "no such note")
	c.want("GET", "/nothing", "", 404, "")
	c.end()
	log, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"msg":"POST /notes","processor":\d+,"coroutine":\d+,"name":"POST /notes","method":"POST",` +
			`"path":"/notes","remote":"127[^"]*","status":201,"bytes":\d\d,"took":"\d`,
		`"msg":"GET /notes/{id}",.*"path":"/notes/7",.*"status":404`,
		`"msg":"no route",.*"path":"/nothing",.*"status":404`,
	} {
		if !regexp.MustCompile(want).Match(log) {
			t.Errorf("no line %s in\n%s", want, log)
		}
	}
}

// TestNotes: notes are made, shown and removed, and outlive the server.
func TestNotes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.db")
	c := start(t, "-db", file)
	c.want("GET", "/notes", "", 200, "[]")
	c.want("POST", "/notes", `{"text":"first"}`, 201, `"id":1,"text":"first"`)
	c.want("POST", "/notes", `{"text":"second"}`, 201, `"id":2`)
	c.want("GET", "/notes/2", "", 200, `"second"`)
	c.want("GET", "/notes/3", "", 404, "no such note")
	c.want("DELETE", "/notes/2", "", 204, "")
	c.want("GET", "/notes/2", "", 404, "no such note")
	c.want("POST", "/notes", `{"text":" "}`, 400, "a note is")
	c.want("POST", "/notes", "nonsense", 400, "a note is")
	c.want("POST", "/notes", `{"text":"`+strings.Repeat("x", maxBody)+`"}`, 413, "too long")
	c.want("PUT", "/notes", "", 405, "")
	c.want("GET", "/", "", 200, "<title>Notes</title>")
	c.want("GET", "/metrics", "", 200, "netco_")
	c.end()
	c = start(t, "-db", file)
	c.want("GET", "/notes", "", 200, `"first"`)
	c.end()
}

// TestMany: many clients at a time add notes, and none is lost.
func TestMany(t *testing.T) {
	c := start(t)
	const clients, each = 8, 10
	var all sync.WaitGroup
	for id := range clients {
		all.Go(func() {
			for i := range each {
				c.want("POST", "/notes", fmt.Sprintf(`{"text":"%d of %d"}`, i, id), 201, " of ")
			}
		})
	}
	all.Wait()
	c.want("GET", fmt.Sprint("/notes/", clients*each), "", 200, " of ")
	_, text := c.ask("GET", "/notes", "")
	var notes []note
	if err := json.Unmarshal([]byte(text), &notes); err != nil || len(notes) != clients*each ||
		!slices.IsSortedFunc(notes, func(a, b note) int { return int(b.ID - a.ID) }) {
		t.Errorf("%d notes, %v", len(notes), err)
	}
	c.end()
}

// TestLive: a page gets each new note, and a goodbye when the server ends.
func TestLive(t *testing.T) {
	c := start(t)
	live := "ws" + strings.TrimPrefix(c.url, "http") + "/live"
	page, _, err := websocket.DefaultDialer.Dial(live, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	page.SetReadDeadline(time.Now().Add(time.Minute))
	for i := range 3 { // a note may come before the page is known
		text := fmt.Sprint("note ", i)
		c.want("POST", "/notes", fmt.Sprintf(`{"text":%q}`, text), 201, text)
	}
	for {
		var x note
		if err := page.ReadJSON(&x); err != nil {
			t.Fatal(err)
		}
		if x.Text == "note 2" {
			break
		}
	}
	c.end()
	if _, _, err := page.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("at the end: %v", err)
	}
}

// TestEndWhileIdle: connections that wait for a request do not keep the server
// from ending.
func TestEndWhileIdle(t *testing.T) {
	c := start(t, "-grace", "1h")
	c.want("GET", "/notes", "", 200, "[]") // the client keeps the connection
	c.end()
}

// TestFailure: what cannot be started says why.
func TestFailure(t *testing.T) {
	for _, args := range [][]string{
		{"-addr", "nonsense"}, {"-db", filepath.Join(t.TempDir(), "none", "notes.db")},
	} {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), "HTTP_CHILD=1")
		out, err := cmd.CombinedOutput()
		if err == nil || len(out) == 0 {
			t.Errorf("%v: %q, %v", args, out, err)
		}
	}
}
