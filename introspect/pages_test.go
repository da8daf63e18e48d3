package introspect

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// get asks for a page and returns its text.
func get(t testing.TB, h http.Handler, url string, want int) (text string, header http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", url, nil)
	r.Host = "localhost" // else one that the pages refuse
	h.ServeHTTP(w, r)
	if w.Code != want {
		t.Fatalf("%s: status %d, want %d: %.300s", url, w.Code, want, w.Body)
	}
	return w.Body.String(), w.Header()
}

// getJSON asks for a page as JSON.
func getJSON[T any](t testing.TB, h http.Handler, url string) *T {
	t.Helper()
	text, header := get(t, h, url, 200)
	if got := header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("%s is %q", url, got)
	}
	v := new(T)
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v: %.300s", url, err, text)
	}
	return v
}

// overview asks for the first page.
func overview(t testing.TB, h http.Handler) *overviewJSON {
	t.Helper()
	return getJSON[overviewJSON](t, h, "/overview.json")
}

var allPages = []string{"", "overview", "coroutines", "coroutines?group=name",
	"coroutines?group=site", "coroutine?id=4&stack=1", "sockets", "requests", "stalls"}

// TestPages: every page answers, is well formed, lets nothing in from
// elsewhere, and says what it is about.
func TestPages(t *testing.T) {
	h := newFake(1000).handler(Options{AllowStop: true})
	for page, want := range map[string][]string{
		"": {"<h1>Overview</h1>", "Processor 1", "62", "goes on", "<svg",
			"half of the turns took at most"},
		"coroutines": {"echo connection", "daemon/serve.go:11", "1–100 of 1\u202f000",
			"something that is waited for", `href="coroutine?id=7"`},
		"coroutines?group=name":  {"echo connection", "The largest groups first", "143"},
		"coroutines?group=site":  {"daemon/serve.go:12", "200"},
		"coroutine?id=4&stack=1": {"main.serve(0x1)", "/src/daemon/serve.go:13", `action="stop"`},
		"sockets": {"127.0.0.1:7000", "listener", "10.0.0.5:1029",
			`href="coroutine?id=1"`},
		"requests": {"/young", "&lt;b&gt;", "HTTP/1.0"},
		"stalls": {"chan receive", "312 ms", "goes on", "&lt;b&gt;bold",
			"daemon/log.go:34", "12\u202f345", "&lt;i&gt;journal", "unknown: it had woken"},
		"stalls?cause=channel": {"chan receive", "daemon/serve.go:20"},
	} {
		text, header := get(t, h, "/debug/netco/"+page, 200)
		wellFormed(t, page, text)
		for _, s := range want {
			if !strings.Contains(text, s) {
				t.Errorf("%q does not contain %q", page, s)
			}
		}
		testenv.Equal(t, header.Get("Content-Type"), "text/html; charset=utf-8", page)
		fetchesNothing(t, page, text)
		sealed(t, page, text, header)
	}
	if text, _ := get(t, h, "/stalls?cause=channel", 200); strings.Contains(text, "bold") ||
		strings.Contains(text, "journal") {
		t.Error("stalls of one cause show another's")
	}
}

// wellFormed checks that tags are closed in the order in which they were
// opened.
func wellFormed(t *testing.T, page, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	d.AutoClose = []string{"meta", "link", "input", "br"}
	d.Entity = xml.HTMLEntity
	var open []string
	for {
		token, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%q: %v", page, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "meta", "link", "input", "br":
			default:
				open = append(open, e.Name.Local)
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != e.Name.Local {
				line, _ := d.InputPos()
				t.Fatalf("%q: line %d: </%s>, open are %v", page, line, e.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%q: open at the end: %v", page, open)
	}
}

var elsewhere = regexp.MustCompile(`(?i)<script|\son[a-z]+=|\sstyle=|https?://|url\(|@import|<iframe|<img|srcset`)

// fetchesNothing checks that a page needs nothing from elsewhere, no script,
// and no style but the one in its head.
func fetchesNothing(t *testing.T, page, text string) {
	t.Helper()
	testenv.Equal(t, elsewhere.FindString(text), "", page, "contains")
	for _, m := range regexp.MustCompile(`(?:href|action)="([^"]*)"`).FindAllStringSubmatch(
		text, -1) {
		if strings.HasPrefix(m[1], "/") ||
			strings.Contains(strings.TrimPrefix(m[1], "data:"), ":") {
			t.Errorf("%q links to %q: not relative", page, m[1])
		}
	}
}

// sealed checks that the policy allows the page's style, by its hash, and
// nothing else.
func sealed(t *testing.T, page, text string, header http.Header) {
	t.Helper()
	_, rest, _ := strings.Cut(text, "<style>")
	css, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(css))
	policy := header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") ||
		!strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("%q: the policy is %q", page, policy)
	}
	for _, name := range []string{"X-Content-Type-Options", "Cache-Control", "Referrer-Policy"} {
		if header.Get(name) == "" {
			t.Errorf("%q: no %s", page, name)
		}
	}
}

// TestJSON: every page is JSON with the fields of its type and no others, at
// .json and with format=json.
func TestJSON(t *testing.T) {
	h := newFake(1000).handler(Options{})
	o := getJSON[overviewJSON](t, h, "/debug/netco/?format=json")
	if o.Phase != "running" || o.Coroutines.Live != 1000 || o.Coroutines.Ready != 59 ||
		len(o.Processors) != 2 || o.Processors[1].State != "stalled" ||
		len(o.Processors[0].History) != 48 || o.Refused != 3 || len(o.Stalls) != 2 ||
		o.Stalls[0].Cause != "syscall" || len(o.Handoffs) != 3 || o.Deadlock != nil {
		t.Errorf("overview: %+v", o)
	}
	c := getJSON[coroutinesJSON](t, h, "/debug/netco/coroutines.json?rows=3")
	if c.Seen != 1000 || c.Matched != 1000 || c.First != 1 || c.Next == "" || c.Prev != "" ||
		len(c.Coroutines) != 3 || c.Coroutines[1].Name != "echo connection" ||
		c.Coroutines[1].SinceNs <= 0 || c.Coroutines[1].File != "/src/daemon/serve.go" {
		t.Errorf("coroutines: %+v", c)
	}
	g := getJSON[groupsJSON](t, h, "/debug/netco/coroutines?group=processor&format=json")
	if len(g.Groups) != 2 || g.Groups[0].Count != 500 || g.Groups[0].Key != "0" ||
		g.By != "processor" || g.Missing != 0 {
		t.Errorf("groups: %+v", g)
	}
	one := getJSON[coroutineJSON](t, h, "/debug/netco/coroutine.json?id=7&stack=1")
	if one.ID != 7 || one.Name != "metrics push" || !strings.Contains(one.Stack, "goroutine 7") ||
		one.StackError != "" {
		t.Errorf("coroutine: %+v", one)
	}
	s := getJSON[socketsJSON](t, h, "/debug/netco/sockets.json?rows=2&sort=-fd")
	if s.Matched != 1000 || len(s.Sockets) != 2 || s.Sockets[0].FD != 1004 {
		t.Errorf("sockets: %+v", s)
	}
	if got := getJSON[stallsJSON](t, h,
		"/debug/netco/stalls.json?processor=1"); len(got.Stalls) != 2 || got.Stalls[0].Over ||
		len(got.Handoffs) != 3 ||
		got.Handoffs[0].BlockedAt != "daemon/log.go:34 main.(*journal).write" ||
		got.Handoffs[0].Count != 12_345 {
		t.Errorf("stalls: %+v", got)
	}
	// What an empty Scheduler shows are empty lists and not null.
	empty := newFake(0)
	empty.stalls = func() []scheduler.Stall { return nil }
	empty.handoffs = func() []scheduler.Handoff { return nil }
	for _, page := range allPages[2:4] {
		if text, _ := get(t, empty.handler(Options{}), "/"+strings.Replace(page, "?", ".json?", 1),
			200); strings.Contains(text, "null") {
			t.Errorf("%s: %s", page, text)
		}
	}
	if text, _ := get(t, empty.handler(Options{}), "/stalls.json", 200); strings.Contains(text,
		"null") {
		t.Errorf("stalls: %s", text)
	}
}

// TestRequests: the oldest request comes first, and a long target is cut.
func TestRequests(t *testing.T) {
	h := newFake(60).handler(Options{})
	requests := getJSON[requestsJSON](t, h, "/debug/netco/requests.json")
	if len(requests.Requests) != 2 || requests.Total != 2 || requests.Requests[0].Method != "<b>" ||
		len(requests.Requests[0].Target) > 5000 {
		t.Errorf("requests: %+v", requests)
	}
}

// TestMounted: links lead to the pages at whatever prefix they are, stripped or
// not.
func TestMounted(t *testing.T) {
	h := newFake(9).handler(Options{})
	mux := http.NewServeMux()
	mux.Handle("/debug/netco/", h)
	mux.Handle("/a/b/c/", http.StripPrefix("/a/b/c", h))
	mux.Handle("/noslash/", http.StripPrefix("/noslash/", h))
	mux.Handle("/bare", http.StripPrefix("/bare", h))
	mux.Handle("/bare/", http.StripPrefix("/bare", h))
	server := httptest.NewServer(mux)
	defer server.Close()
	client := server.Client()
	for i, prefix := range []string{"/debug/netco/", "/a/b/c/", "/noslash/", "/bare",
		"/debug/netco"} {
		most := 30
		if i > 0 {
			most = 12
		}
		todo, done := []string{server.URL + prefix}, map[string]bool{}
		for len(todo) > 0 && len(done) < most {
			url := todo[0]
			todo = todo[1:]
			if done[url] {
				continue
			}
			done[url] = true
			r := testenv.Must(client.Get(url))
			text, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if r.StatusCode != 200 && !strings.Contains(url, "coroutine?id=") {
				t.Errorf("from %s: %s: %s", prefix, url, r.Status)
			}
			for _, m := range regexp.MustCompile(`href="([^"#]*)"`).FindAllStringSubmatch(
				string(text), -1) {
				if strings.HasPrefix(m[1], "data:") || m[1] == "" {
					continue
				}
				link := testenv.Must(r.Request.URL.Parse(strings.ReplaceAll(m[1], "&amp;", "&")))
				if !strings.HasPrefix(link.Path, strings.TrimSuffix(prefix, "/")+"/") {
					t.Errorf("%s links to %s", url, link)
				}
				todo = append(todo, link.String())
			}
		}
		if len(done) < most*2/3 {
			t.Errorf("from %s only %d pages are reached", prefix, len(done))
		}
	}
}

// askedWrong are requests, the status of the answer, and what that says.
var askedWrong = []struct {
	url    string
	status int
	says   string
}{
	{"nothing", 404, "no such page"},
	{"coroutine?id=99", 404, "no such coroutine"},
	{"coroutine", 400, "id is missing"},
	{"coroutine?id=-1", 400, "id is"},
	{"coroutines?state=asleep", 400, "one of"},
	{"coroutines?reason=why", 400, "one of"},
	{"coroutines?sort=height", 400, "one of"},
	{"coroutines?rows=100000", 400, "from 1 to 1000"},
	{"coroutines?rows=0", 400, "from 1 to 1000"},
	{"coroutines?age=old", 400, "a duration"},
	{"coroutines?age=-3s", 400, "a duration"},
	{"coroutines?processor=x", 400, "a number"},
	{"coroutines?after=x", 400, "no place"},
	{"coroutines?before=1.2.%25", 400, "no place"},
	{"coroutines?group=shoe", 400, "one of"},
	{"coroutines?group=name&state=asleep", 400, "one of"},
	{"sockets?kind=door", 400, "one of"},
	{"sockets?waits=long", 400, "one of"},
	{"stalls?processor=-1", 400, "a number"},
	{"stalls?format=xml", 400, "one of: html json"},
}

// TestErrors: what is asked wrong gets a status and says what is wrong, as a
// page and as JSON.
func TestErrors(t *testing.T) {
	h := newFake(10).handler(Options{})
	for _, c := range askedWrong {
		text, header := get(t, h, "/x/"+c.url, c.status)
		if !strings.Contains(text, c.says) || header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %q, want %q in it", c.url, text, c.says)
		}
		if strings.Contains(c.url, "format") {
			continue
		}
		wellFormed(t, c.url, text)
		page, query, _ := strings.Cut(c.url, "?")
		text, _ = get(t, h, "/x/"+page+".json?"+query, c.status)
		failure := failureJSON{}
		if err := json.Unmarshal([]byte(text), &failure); err != nil ||
			!strings.Contains(failure.Error, c.says) {
			t.Errorf("%s as JSON: %q", c.url, text)
		}
	}
	testenv.Fails(t, testenv.Err(parseKey("1.2.YQ")), nil, "a key that is one")
	text, _ := get(t, h, "/x/coroutines?refresh=0", 400)
	if !strings.Contains(text, "refresh is") {
		t.Errorf("refresh=0: %s", text)
	}
	if text, _ := get(t, h, "/x/coroutines?refresh=7", 200); !strings.Contains(text,
		`http-equiv="refresh" content="7"`) {
		t.Error("refresh=7 refreshes nothing")
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/x/coroutines", nil))
		if w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
	testenv.Equal(t, status(errors.New("any")), 500, "an error of no kind is the server's")
}

// TestNotInCoroutine: in a coroutine it would hold up the Processor, so it says
// that it must not be there.
func TestNotInCoroutine(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 1})
	h := New(s, Options{})
	codes := make(chan int, 1)
	testenv.Must(s.Go(func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/", nil))
		codes <- w.Code
	}))
	testenv.Equal(t, <-codes, 503, "status")
}
