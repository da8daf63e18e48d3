package stdtls

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

var language = regexp.MustCompile(`(?m)^go .*$`)

// newModule makes the module in a temporary folder. It requires what interop
// does, has the stand-ins and the standard library's copy of x/crypto, and is
// written in the language of the Go release in use, as crypto/tls is.
func newModule(t *testing.T, src string) string {
	t.Helper()
	dir := t.TempDir()
	mod := string(testenv.Must(os.ReadFile("../go.mod")))
	mod = language.ReplaceAllString(mod, "go "+release()+".0")
	mod += "\nrequire golang.org/x/crypto v0.999.0\n\nreplace golang.org/x/crypto => ./crypto\n" +
		"\nreplace github.com/netco-go/netco => " + testenv.Must(filepath.Abs("../..")) + "\n"
	write(t, filepath.Join(dir, "go.mod"), mod)
	write(t, filepath.Join(dir, "go.sum"), string(testenv.Must(os.ReadFile("../go.sum"))))
	write(t, filepath.Join(dir, "crypto", "go.mod"),
		"module golang.org/x/crypto\n\ngo "+release()+".0\n")
	copied := filepath.Join(src, "..", "..", "vendor", "golang.org", "x", "crypto", "cryptobyte")
	testenv.OK(t, os.CopyFS(filepath.Join(dir, "crypto", "cryptobyte"), os.DirFS(copied)))
	for _, file := range testenv.Must(filepath.Glob("testdata/standin/*.go")) {
		folder := strings.TrimSuffix(filepath.Base(file), ".go")
		write(t, filepath.Join(dir, "standin", folder, "standin.go"),
			string(testenv.Must(os.ReadFile(file))))
	}
	return dir
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

// buildTests builds the tests. testdata/support.go.txt is linked to variables
// that crypto/tls does not let others use, unless the linker does not check.
func buildTests(t *testing.T, dir string) string {
	t.Helper()
	args := []string{"test", "-c", "-o", "tests", "-ldflags=-checklinkname=0"}
	if goruntime.RaceEnabled {
		args = append(args, "-race")
	}
	command(t, dir, "go", append(args, ".")...)
	return filepath.Join(dir, "tests")
}
