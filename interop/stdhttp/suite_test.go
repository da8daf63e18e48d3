package stdhttp

import (
	"go/build"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// modulePath is the module that the tests are copied to.
const modulePath = "github.com/netco-go/netco/interop"

// suite is the tests of one package.
type suite struct {
	name   string // its folder in the module
	folder string // in the standard library
	pkg    string // the package clause of the files that are taken
	// The tests are of netco's package. Else the package itself is copied too,
	// and they are of the copy.
	ofNetco bool
	least   int // how many tests are taken of each Go release
}

var suites = []suite{
	{"http", "net/http", "http_test", true, 440},
	{"httpinternal", "net/http", "http", true, 30},
	{"httputil", "net/http/httputil", "", false, 30},
	{"httptest", "net/http/httptest", "", false, 8},
}

// imports are what the tests import in the place of packages of the standard
// library.
var imports = map[string]string{
	"net":                          "github.com/netco-go/netco/net",
	"net/http":                     "github.com/netco-go/netco/net/http",
	"crypto/tls":                   "github.com/netco-go/netco/tls",
	"net/http/httptest":            modulePath + "/httptest",
	"net/http/httputil":            modulePath + "/httputil",
	"net/http/internal":            modulePath + "/copied/chunked",
	"net/http/internal/ascii":      modulePath + "/copied/ascii",
	"net/http/internal/testcert":   modulePath + "/copied/testcert",
	"net/http/internal/httpsfv":    modulePath + "/copied/httpsfv",
	"net/http/internal/httpcommon": modulePath + "/copied/httpcommon",
}

var language = regexp.MustCompile(`(?m)^go .*$`)

// newModule makes the module in a temporary folder. It requires what interop
// does, has the stand-ins and copies of small internal packages, and is written
// in the language of the Go release in use, as net/http is.
func newModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root := testenv.Must(filepath.Abs("../.."))
	mod := string(testenv.Must(os.ReadFile("../go.mod")))
	mod = strings.Replace(mod, "=> ../", "=> "+root, 1)
	write(t, filepath.Join(dir, "go.mod"), language.ReplaceAllString(mod, "go "+release()+".0"))
	write(t, filepath.Join(dir, "go.sum"), string(testenv.Must(os.ReadFile("../go.sum"))))
	for _, file := range testenv.Must(filepath.Glob("testdata/standin/*.go")) {
		folder := strings.TrimSuffix(filepath.Base(file), ".go")
		write(t, filepath.Join(dir, "standin", folder, "standin.go"),
			string(testenv.Must(os.ReadFile(file))))
	}
	for path, copied := range imports {
		from, isCopy := filepath.Join(library(t), path), strings.Contains(copied, "/copied/")
		if _, err := os.Stat(from); !isCopy || err != nil {
			continue
		}
		for _, name := range testenv.Must(build.Default.ImportDir(from, 0)).GoFiles {
			write(t, filepath.Join(dir, strings.TrimPrefix(copied, modulePath), name),
				string(testenv.Must(os.ReadFile(filepath.Join(from, name)))))
		}
	}
	return dir
}

// library returns the folder of the standard library in use.
func library(t *testing.T) string {
	t.Helper()
	src := filepath.Join(command(t, ".", "go", "env", "GOROOT"), "src")
	if _, err := os.Stat(filepath.Join(src, "net", "http", "serve_test.go")); err != nil {
		t.Skipf("Go is installed without its tests: %v", err)
	}
	return src
}

// files returns which files of a package a suite is made of.
func (s suite) files(src string) (names []string, err error) {
	pkg, err := build.Default.ImportDir(src, 0)
	switch {
	case err != nil:
	case s.pkg == "http_test":
		names = pkg.XTestGoFiles
	case s.ofNetco:
		names = pkg.TestGoFiles
	default: // the tests are all in the package, or in another of the same folder
		names = append(pkg.GoFiles, pkg.TestGoFiles...)
	}
	return names, err
}

// release returns the Go release in use, as 1.26.
func release() string {
	tags := build.Default.ReleaseTags
	return strings.TrimPrefix(tags[len(tags)-1], "go")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	testenv.OK(t, os.MkdirAll(filepath.Dir(file), 0o777))
	testenv.OK(t, os.WriteFile(file, []byte(text), 0o666))
}

// buildTests builds the tests of one suite. Their support file is linked to
// variables that netco/net/http does not let others use, unless the linker does
// not check.
func buildTests(t *testing.T, dir string, s suite) string {
	t.Helper()
	binary := filepath.Join(dir, s.name+".tests")
	args := []string{"test", "-c", "-o", binary, "-ldflags=-checklinkname=0"}
	if goruntime.RaceEnabled {
		args = append(args, "-race")
	}
	command(t, dir, "go", append(args, "./"+s.name)...)
	return binary
}
