// Package stdhttp runs net/http's own tests, those of its packages httptest and
// httputil, and those of chi, gorilla/websocket and coder/websocket, over
// netco/net/http.
//
// It takes them from the sources of the Go release in use, and of the modules. A test is taken if
// neither it nor anything that it refers to sees internals of net/http, which a
// type check finds out:
//
//   - The exported names of net/http are those of netco/net/http, and package net
//     is netco/net.
//   - httptest and httputil are copies of the standard library's, and the modules
//     of theirs, with the same changes.
//   - testdata/standin has packages in the place of internal ones of the
//     standard library, and testdata/support.go.txt stand-ins for internals that
//     the tests only prepare or compare with.
//
// Each go statement starts a coroutine, and the body of each test and subtest is
// one, or both stay goroutines, but for net/http's own. In bubbles of testing/synctest, where there are
// no coroutines, they stay so in any case.
//
// testdata/tests lists all tests, and why some are left out; a test that has
// fallen out without being there is an error. testdata/differences has the tests
// that do not hold for netco/net/http, with the reasons.
//
//	go test ./stdhttp                       the standard library's, the short ones
//	NETCO_TEST_SCALE=1 go test ./stdhttp    all
//	go test ./stdhttp -update               write testdata/tests anew
package stdhttp

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	_ "github.com/netco-go/netco/net/http" // a change of it is one of this test
)

func TestMain(m *testing.M) { testenv.Main(m) }

// replaced are places of the tests that look at internals although they need
// not.
var replaced = []struct{ old, new string }{
	{`([\w.]+)\.IdleConnKeysForTesting\(\)`, "netcoIdleKeys($1)"},
	{`([\w.]+)\.IdleConnKeyCountForTesting\(\)`, "len(netcoIdleKeys($1))"},
	{`([\w.]+)\.IdleConnCountForTesting\(`, "netcoIdleCount($1, "},
	{`([\w.]+)\.IdleConnStrsForTesting\(\)`, "netcoIdleStrs($1)"},
	{`([\w.]+)\.IdleConnWaitMapSizeForTesting\(\)`, "netcoWaiting($1)"},
	{`([\w.]+)\.NumPendingRequestsForTesting\(\)`, "netcoPending($1)"},
	{`([\w.]+)\.WithT\(t\)`, "$1"},
	{`\b(err) != (ExportErrRequestCanceled)\b`, "!netcoIs($1, $2)"},
	{`(ue\.Err) != (ExportErrRequestCanceledConn)`, "!netcoIs($1, $2)"},
	{`errors\.Is\(err, ExportErr`, "netcoIs(err, ExportErr"},
	{`http\.ProtocolSetHTTP3\(p\)`, ""}, // no test gets there
	{`http\.MaxPostCloseReadTime`, "(50 * time.Millisecond)"},
	// CancelRequest, which may do nothing, does nothing for coroutines.
	{`\brunCancelTestTransport\(t, mode, f\)`, "_ = runCancelTestTransport"},
	{`proxy\.c\.Transport\.\(\*Transport\)\.CancelRequest\(req2\)`, "close(cancel)"},
	{`frontendClient\.Transport\.\(\*http\.Transport\)\.CancelRequest\(getReq\)`,
		"frontend.CloseClientConnections()"},
	{`net/http_test\.testWriteHeaderAfterWrite\.func1 \(clientserver_test.go:`, ""}, // a prefix
}

const building = "it builds net/http"

// except are declarations that would be taken but are not of netco/net/http.
var except = map[string]string{
	"TestMain":              "it looks for goroutines",
	"TestCmdGoNoHTTPServer": building,
	"TestOmitHTTP2":         building,
	"TestOmitHTTP2Vet":      building,
}

func replace(text string) string {
	for _, r := range replaced {
		text = regexp.MustCompile(r.old).ReplaceAllString(text, r.new)
	}
	return text
}

func TestStandard(t *testing.T) {
	dir := newModule(t)
	if only := os.Getenv("NETCO_STDHTTP_KEEP"); only != "" {
		dir = only
		testenv.OK(t, os.CopyFS(dir, os.DirFS(newModule(t))))
	}
	differ := differences(t)
	all, left := map[string][]string{}, map[string]string{}
	for _, s := range slices.Backward(suites) { // the copies are imported
		taken, not := take(t, s, dir)
		if len(taken) < s.least {
			t.Errorf("%s: %d tests are taken, want %d", s.name, len(taken), s.least)
		}
		t.Logf("%s: %d tests are taken, %d left out", s.name, len(taken), len(not))
		all[s.name] = taken
		for name, reason := range not {
			left[s.name+"."+name] = reason
		}
	}
	checkList(t, all, left)
	for _, s := range suites {
		if s.least == 0 || !testenv.Full() && s.module != "" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			binary := buildTests(t, dir, s)
			for _, m := range modes {
				if !testenv.Full() && m != modes[0] || s.name == "http" && m.coroutines == "" {
					continue // on goroutines the pool, which its tests look into, is the standard's
				}
				t.Run(m.name, func(t *testing.T) {
					if err := testrun.CanHandOn(); err != nil && m.coroutines != "" {
						t.Skipf("the tests wait in Go's channels: %v", err)
					}
					runTests(t, s, exec.Command(binary, "-test.v", "-test.timeout=4m",
						fmt.Sprintf("-test.short=%v", !testenv.Full()),
						"-test.skip=^("+strings.Join(differ[s.name], "|")+")$"), all[s.name],
						"NETCO_STDHTTP_PROCESSORS="+m.processors,
						"NETCO_STDHTTP_COROUTINES="+m.coroutines)
				})
			}
		})
	}
}

// modes are what the bodies of tests are. Where tests are not run at full
// length the first one has to do.
var modes = []struct{ name, processors, coroutines string }{
	{"coroutines of two Processors", "2", "yes"},
	{"coroutines of one Processor", "1", "yes"},
	{"goroutines", "2", ""},
}

// most is how many of the standard library's tests may not hold for
// netco/net/http.
const most = 15

// differences returns the tests that are not to be run, by their suites.
func differences(t *testing.T) map[string][]string {
	t.Helper()
	standard := map[string]bool{}
	for _, s := range suites {
		standard[s.name] = s.module == ""
	}
	all, n := map[string][]string{}, 0
	for line := range strings.Lines(string(testenv.Must(os.ReadFile("testdata/differences")))) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), ": ")
		suite, test, dot := strings.Cut(name, ".")
		if !ok || !dot || reason == "" {
			t.Fatalf("testdata/differences: %q", line)
		}
		all[suite] = append(all[suite], test)
		if standard[suite] {
			n++
		}
	}
	if n > most {
		t.Errorf("%d tests differ, want at most %d", n, most)
	}
	return all
}

var result = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\w+)`)

// runTests runs the binary of the tests in the folder that has their data. All
// of them must pass.
func runTests(t *testing.T, s suite, cmd *exec.Cmd, tests []string, env ...string) {
	t.Helper()
	cmd.Dir, cmd.Env = s.source(t), append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, failures(out))
	}
	got := map[string]string{}
	for _, match := range result.FindAllSubmatch(out, -1) {
		got[string(match[2])] = string(match[1])
	}
	differ := differences(t)[s.name]
	for _, name := range tests {
		switch r := got[name]; {
		case r == "PASS" || slices.Contains(differ, name):
		case r == "SKIP":
			t.Logf("%s skips itself", name)
		default:
			t.Errorf("%s: %q", name, r)
		}
	}
}

// failures returns a few lines around each failure, or the last ones.
func failures(out []byte) string {
	var around [][]byte
	lines := bytes.Split(out, []byte("\n"))
	for i, line := range lines {
		if bytes.Contains(line, []byte("--- FAIL")) || bytes.HasPrefix(line, []byte("panic:")) ||
			bytes.Contains(line, []byte("DATA RACE")) {
			around = append(around, lines[max(0, i-4):min(len(lines), i+10)]...)
		}
	}
	if around == nil {
		around = lines
	}
	return string(bytes.Join(around[:min(len(around), 300)], []byte("\n")))
}

var update = flag.Bool("update", false, "write testdata/tests anew")

const list = "testdata/tests"

// checkList holds the tests that are taken, and those left out, against the
// list. It need not have all of a newer release, nor they what is in the list.
func checkList(t *testing.T, taken map[string][]string, left map[string]string) {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil && !*update {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, reason, _ := strings.Cut(strings.TrimSpace(line), ": ")
		listed[name] = reason
	}
	for name, reason := range left {
		if old, ok := listed[name]; ok && old == "" && !*update {
			t.Errorf("%s is left out: %s", name, reason)
		}
		listed[name] = reason
	}
	for suite, names := range taken {
		for _, name := range names {
			listed[suite+"."+name] = ""
		}
	}
	if !*update {
		return
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		lines.WriteString(name)
		if listed[name] != "" {
			fmt.Fprintf(&lines, ": %s", listed[name])
		}
		lines.WriteString("\n")
	}
	testenv.OK(t, os.WriteFile(list, []byte(lines.String()), 0o666))
}

// command runs a command in dir and returns what it has written to stdout.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, failures(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out))
}
