package stdhttp

import (
	"encoding/json"
	"go/build"
	"os"
	"path"
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
	module string // the module that it is of, with its version; "" is the standard library
	folder string // in there
	// The files of other packages than this one are tests; else the package
	// itself is copied too, and the tests are of the copy.
	tests kind
	least int // how many tests are taken of each Go release
}

// kind is what of a folder's files a suite is.
type kind int

const (
	copied   kind = iota // the package and the tests that are in it
	external             // the tests that are in a package of their own
	internal             // those that are in the package, of netco's
)

const (
	chi     = "github.com/go-chi/chi/v5@v5.2.3"
	gorilla = "github.com/gorilla/websocket@v1.5.3"
	coder   = "github.com/coder/websocket@v1.8.12"
)

// suites has what others import after them.
var suites = []suite{
	{"chi/middleware", chi, "middleware", copied, 20},
	{"chi", chi, "", copied, 20},
	{"gorilla", gorilla, "", copied, 40},
	{"coder/tests", coder, "", external, 8},
	{"coder/wsjson", coder, "wsjson", copied, 0},
	{"coder/internal/test/wstest", coder, "internal/test/wstest", copied, 0},
	{"coder", coder, "", copied, 3},
	{"coder/internal/test/xrand", coder, "internal/test/xrand", copied, 0},
	{"coder/internal/xsync", coder, "internal/xsync", copied, 0},
	{"coder/internal/util", coder, "internal/util", copied, 0},
	{"coder/internal/bpool", coder, "internal/bpool", copied, 0},
	{"coder/internal/errd", coder, "internal/errd", copied, 0},
	{"coder/internal/test/assert", coder, "internal/test/assert", copied, 0},
	{"http", "", "net/http", external, 470},
	{"httpinternal", "", "net/http", internal, 28},
	{"httputil", "", "net/http/httputil", copied, 40},
	{"httptest", "", "net/http/httptest", copied, 9},
	{"chunked", "", "net/http/internal", copied, 0},
	{"ascii", "", "net/http/internal/ascii", copied, 0},
	{"testcert", "", "net/http/internal/testcert", copied, 0},
	{"nettest", "", "internal/nettest", copied, 0}, // this and the next: from Go 1.27 on
	{"gate", "", "internal/gate", copied, 0},
}

// path is the package's path.
func (s suite) path() string {
	module, _, _ := strings.Cut(s.module, "@")
	return path.Join(module, s.folder)
}

// source returns the package's folder.
func (s suite) source(t *testing.T) string {
	t.Helper()
	if s.module == "" {
		return filepath.Join(library(t), s.folder)
	}
	// Outside of any module, so that no go.mod has a say.
	out := command(t, os.TempDir(), "go", "mod", "download", "-json", s.module)
	var found struct{ Dir string }
	testenv.OK(t, json.Unmarshal([]byte(out), &found))
	return filepath.Join(found.Dir, s.folder)
}

// imports are what the tests import in the place of other packages.
func imports() map[string]string {
	all := map[string]string{
		"net":      "github.com/netco-go/netco/net",
		"net/http": netcoHTTP,
	}
	for _, s := range suites {
		if s.tests == copied {
			all[s.path()] = modulePath + "/" + s.name
		}
	}
	return all
}

const netcoHTTP = "github.com/netco-go/netco/net/http"

var language = regexp.MustCompile(`(?m)^go .*$`)

// newModule makes the module in a temporary folder. It requires what interop
// does, has the stand-ins, and is written in the language of the Go release in use, as net/http is.
func newModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root := testenv.Must(filepath.Abs("../.."))
	mod := string(testenv.Must(os.ReadFile("../go.mod")))
	mod += "\nreplace github.com/netco-go/netco => " + root
	mod += "\ngodebug randseednop=0\n" // gorilla/websocket's tests seed math/rand
	write(t, filepath.Join(dir, "go.mod"), language.ReplaceAllString(mod, "go "+release()+".0"))
	write(t, filepath.Join(dir, "go.sum"), string(testenv.Must(os.ReadFile("../go.sum"))))
	for _, file := range testenv.Must(filepath.Glob("testdata/standin/*.go")) {
		folder := strings.TrimSuffix(filepath.Base(file), ".go")
		write(t, filepath.Join(dir, "standin", folder, "standin.go"),
			string(testenv.Must(os.ReadFile(file))))
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

// files returns which files of the folder the suite is.
func (s suite) files(src string) (names []string, err error) {
	if _, err := os.Stat(src); err != nil && s.least == 0 {
		return nil, nil // this release does not have it
	}
	pkg, err := build.Default.ImportDir(src, 0)
	switch {
	case err != nil:
	case s.tests == external:
		names = pkg.XTestGoFiles
	case s.tests == internal:
		names = pkg.TestGoFiles
	default:
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

// buildTests builds the tests of one suite.
func buildTests(t *testing.T, dir string, s suite) string {
	t.Helper()
	binary := filepath.Join(dir, strings.ReplaceAll(s.name, "/", "_")+".tests")
	args := []string{"test", "-c", "-vet=off", "-o", binary}
	if goruntime.RaceEnabled {
		args = append(args, "-race")
	}
	command(t, dir, "go", append(args, "./"+s.name)...)
	return binary
}
