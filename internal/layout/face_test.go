package layout

import (
	"fmt"
	"go/build"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// How many exported names users may have to learn: types, functions, methods,
// constants, variables, fields of structs and methods of interfaces. Own names
// are those that the package which netco's mirrors does not have. Lower both
// when names go.
const (
	maxNames    = 751
	maxOwnNames = 292
)

// countedApart mirrors a whole package and has a size of its own.
const countedApart = "net/http"

// mirrors says whose names a package has on purpose, by its folder: packages of
// the standard library.
var mirrors = map[string][]string{
	".":      {"net", "time"},
	"net":    {"net"},
	"socket": {"net"},
	"sync":   {"sync"},
	"tls":    {"crypto/tls"},
}

// alike says whose methods a type of package socket has on purpose: those of
// types of the standard library, or functions of its package syscall.
var alike = map[string][]struct{ pkg, typ string }{
	"Buffered": {{"bufio", "Reader"}, {"bufio", "Writer"}, {"net", "Conn"}},
	"File":     {{"os", "File"}, {"net", "Conn"}},
	"Socket":   {{"syscall", ""}, {"net", "Conn"}},
}

// errgroupNames are x/sync's.
var errgroupNames = []string{"Group", "Group.Go", "Group.SetLimit", "Group.TryGo", "Group.Wait",
	"WithContext"}

// newTLS are names of Go 1.27's crypto/tls.
var newTLS = []string{"MLDSA44", "MLDSA65", "MLDSA87", "MLKEM1024"}

// declaredBy returns what a line of exported declares: "Name", or "Type.Name"
// of a method or field.
func declaredBy(line string) string {
	kind, rest, _ := strings.Cut(line, " ")
	switch {
	case kind == "type":
		typ, member, ok := strings.Cut(rest, ", ")
		if !ok {
			return rest
		}
		name, _, _ := strings.Cut(member, " ")
		return typ + "." + name
	case kind == "func" && strings.HasPrefix(rest, "("):
		receiver, method, _ := strings.Cut(rest[1:], ") ")
		_, typ, _ := strings.Cut(receiver, " ")
		typ, _, _ = strings.Cut(strings.TrimPrefix(typ, "*"), "[")
		name, _, _ := strings.Cut(method, "(")
		return typ + "." + name
	}
	return rest[:len(rest)-len(strings.TrimLeft(rest, identifier))]
}

const identifier = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// standard returns the names of a package of the standard library.
func standard(t *testing.T, pkg string) (names []string) {
	t.Helper()
	for _, line := range exported(t, filepath.Join(build.Default.GOROOT, "src", pkg)) {
		names = append(names, declaredBy(line))
	}
	return names
}

// likeStandard returns what the types of package socket have as alike says.
func likeStandard(t *testing.T) (names []string) {
	t.Helper()
	for typ, models := range alike {
		for _, model := range models {
			for _, name := range standard(t, model.pkg) {
				of, member, ok := strings.Cut(name, ".")
				if !ok {
					of, member = "", name
				}
				if of == model.typ {
					names = append(names, typ+"."+member)
				}
			}
		}
	}
	return names
}

// mirrored returns the names that the package in a folder shares on purpose.
func mirrored(t *testing.T, dir string) (names []string) {
	t.Helper()
	switch dir {
	case "errgroup":
		names = errgroupNames
	case "tls":
		names = newTLS
	case "socket":
		names = likeStandard(t)
	}
	for _, pkg := range mirrors[dir] {
		names = append(names, standard(t, pkg)...)
	}
	return names
}

// TestNames counts what users have to learn. With -v it names what is netco's
// own.
func TestNames(t *testing.T) {
	type count struct{ all, own int }
	var sum count
	var table strings.Builder
	for _, dir := range usersPackages {
		if dir == countedApart {
			continue
		}
		shared, own, lines := mirrored(t, dir), []string(nil), exported(t, filepath.Join(root, dir))
		for _, line := range lines {
			if name := declaredBy(line); !slices.Contains(shared, name) {
				own = append(own, name)
			}
		}
		t.Logf("%s: %s", dir, strings.Join(own, " "))
		fmt.Fprintf(&table, "%-12s %5d %5d\n", dir, len(lines), len(own))
		sum = count{sum.all + len(lines), sum.own + len(own)}
	}
	fmt.Fprintf(&table, "%-12s %5d %5d, and %d in %s, which is counted apart\n", "sum", sum.all,
		sum.own, len(exported(t, filepath.Join(root, countedApart))), countedApart)
	if sum.all > maxNames || sum.own > maxOwnNames {
		t.Errorf("%d names, %d of them netco's own, want at most %d and %d:\n%-12s %5s %5s\n%s",
			sum.all, sum.own, maxNames, maxOwnNames, "package", "all", "own", table.String())
	}
}
