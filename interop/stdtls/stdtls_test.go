// Package stdtls runs crypto/tls's own tests over netco/tls.
//
// It takes them from the sources of the Go release in use. Most of them see
// internals of crypto/tls. A test is taken if neither it nor anything that it
// refers to does, which a type check finds out:
//
//   - The exported names of crypto/tls are those of netco/tls, and package net
//     is netco/net.
//   - testdata/standin has packages in the place of internal ones of the
//     standard library, with what has a meaning outside of it.
//   - testdata/support.go.txt has stand-ins for internals that the tests only
//     prepare or compare with.
//   - The tables replaced and except, below, have what else is changed or left
//     out, with the reasons.
//
// Each go statement becomes a call of netco.Go, and the body of each test and
// subtest a coroutine, or both stay goroutines. The tests wait for one another
// in Go's channels and in package testing all the same.
//
// testdata/tests lists all tests, and why some are left out; a test that has
// fallen out without being there is an error.
//
//	go test ./stdtls
//	go test ./stdtls -update    write testdata/tests anew
package stdtls

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	_ "github.com/netco-go/netco/tls" // a change of it is one of this test
)

func TestMain(m *testing.M) { testenv.Main(m) }

// replaced are places of the tests that look at internals although they need
// not.
var replaced = strings.NewReplacer(
	// Looked at after a renegotiation that has succeeded.
	"client.handshakes", "1",
	// All there is to see of a session is exported, but for the secret.
	"clientConfig.ClientSessionCache.(*lruSessionCache).q.Front().Value.(*lruSessionCacheEntry)",
	"netcoSession(clientConfig)",
	// Rand is not set.
	"serverConfig.rand()", "rand.Reader",
	// Not set before either.
	"config.sessionTicketKeys = nil", "",
)

const renegotiation = "renegotiation is off"

// except are tests that would be taken but do not hold for netco/tls, see its
// package documentation.
var except = map[string]string{
	"TestDeadlineOnWrite":          "a Write that has timed out leaves the connection usable",
	"TestRenegotiateOnce":          renegotiation,
	"TestRenegotiateTwice":         renegotiation,
	"TestRenegotiateTwiceRejected": renegotiation,
}

// without are tests that are taken, but not of a release in which they need
// what is exported since.
var without = map[string][]string{
	"1.25": {
		"TestECH",
		"TestHandshakeClientHelloRetryRequest",
		"TestHandshakeMLKEM",
		"TestHandshakeServerHelloRetryRequest",
		"TestHandshakeServerKeySharePreference",
	},
}

// least is how many tests are taken of each Go release.
const least = 105

func TestStandard(t *testing.T) {
	src := sources(t)
	dir := newModule(t, src)
	taken, left := take(t, src, dir)
	checkList(t, taken, left)
	binary := buildTests(t, dir)
	for _, run := range []struct {
		name, processors, coroutines string
	}{
		{"goroutines", "2", ""},
		{"coroutines of one Processor", "1", "yes"},
		{"coroutines of two Processors", "2", "yes"},
	} {
		t.Run(run.name, func(t *testing.T) {
			if err := testrun.CanHandOn(); err != nil && run.coroutines != "" {
				t.Skipf("the tests wait in Go's channels: %v", err)
			}
			runTests(t, exec.Command(binary, "-test.v", "-test.timeout=4m"), src, taken,
				"NETCO_STDTLS_PROCESSORS="+run.processors,
				"NETCO_STDTLS_COROUTINES="+run.coroutines)
		})
	}
}

// sources returns the folder of crypto/tls in the Go release in use.
func sources(t *testing.T) string {
	t.Helper()
	src := filepath.Join(command(t, ".", "go", "env", "GOROOT"), "src", "crypto", "tls")
	if _, err := os.Stat(filepath.Join(src, "tls_test.go")); err != nil {
		t.Skipf("Go is installed without its tests: %v", err)
	}
	return src
}

var result = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\w+)`)

// runTests runs the binary of the tests in the folder that has their data. All
// of them must pass.
func runTests(t *testing.T, cmd *exec.Cmd, src string, tests []string, env ...string) {
	t.Helper()
	cmd.Dir, cmd.Env = src, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, failures(out))
	}
	got := map[string]string{}
	for _, match := range result.FindAllSubmatch(out, -1) {
		got[string(match[2])] = string(match[1])
	}
	passed := 0
	for _, name := range tests {
		switch got[name] {
		case "PASS":
			passed++
		case "SKIP":
			t.Logf("%s skips itself", name)
		default:
			t.Errorf("%s: %q", name, got[name])
		}
	}
	if passed < least {
		t.Errorf("%d tests have passed", passed)
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
func checkList(t *testing.T, taken []string, left map[string]string) {
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
		if slices.Contains(without[release()], name) {
			continue
		}
		if old, ok := listed[name]; ok && old == "" && !*update {
			t.Errorf("%s is left out: %s", name, reason)
		}
		listed[name] = reason
	}
	for _, name := range taken {
		listed[name] = ""
	}
	t.Logf("%d tests are taken, %d left out", len(taken), len(left))
	if len(taken) < least {
		t.Errorf("%d tests are taken, want %d", len(taken), least)
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
	if err := os.WriteFile(list, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
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
