package stdtls

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

const (
	tlsPackage = "github.com/netco-go/netco/tls"
	netPackage = "github.com/netco-go/netco/net"
)

// supportFile is what testdata/support.go.txt becomes.
const supportFile = "support_test.go"

// taking is the work of take.
type taking struct {
	fset     *token.FileSet
	files    []*file // the first is supportFile
	imports  []string
	importer types.Importer
	left     map[string]string // declarations left out by their names, with the reason
}

// file is a file of crypto/tls's tests, with its imports changed.
type file struct {
	name  string
	text  string
	tree  *ast.File
	decls []ast.Decl // those that are taken
	editor
}

// take copies the tests that can be taken from src to dir. It returns their
// names, and of the others the reasons why not.
func take(t *testing.T, src, dir string) (taken []string, left map[string]string) {
	t.Helper()
	k := &taking{fset: token.NewFileSet(), left: map[string]string{}}
	k.read(t, supportFile, "testdata/support.go.txt")
	pkg := testenv.Must(build.Default.ImportDir(src, 0))
	for _, name := range pkg.TestGoFiles {
		k.read(t, name, filepath.Join(src, name))
	}
	k.findPackages(t, dir)
	k.exclude()
	unused := k.check(t)
	for _, f := range k.files {
		f.finish(unused)
		write(t, filepath.Join(dir, f.name), f.apply(f.text))
		for _, decl := range f.decls {
			taken = append(taken, tests(decl)...)
		}
	}
	left = map[string]string{}
	for name, reason := range k.left {
		if isTest(name) {
			left[name] = reason
		}
	}
	return taken, left
}

// read reads a file and changes its imports.
func (tk *taking) read(t *testing.T, name, path string) {
	t.Helper()
	text := replaced.Replace(string(testenv.Must(os.ReadFile(path))))
	head := testenv.Must(parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly))
	e := editor{base: int(head.FileStart)}
	e.replace(head.Name.End(), head.Name.End(), fmt.Sprintf("; import . %q", tlsPackage))
	for _, spec := range head.Imports {
		old := testenv.Must(strconv.Unquote(spec.Path.Value))
		standin := strings.ReplaceAll(old, "/", "_")
		if _, err := os.Stat(filepath.Join("testdata", "standin", standin+".go")); err == nil {
			new := modulePath + "/standin/" + standin
			e.replace(spec.Path.Pos(), spec.Path.End(), strconv.Quote(new))
		} else if old == "net" {
			e.replace(spec.Path.Pos(), spec.Path.End(), strconv.Quote(netPackage))
		} else if slices.Contains(strings.Split(old, "/"), "internal") {
			e.replace(spec.Pos(), spec.Path.End(), `_ "unsafe"`) // nothing is declared
		}
	}
	f := &file{name: name, text: e.apply(text)}
	f.tree = testenv.Must(parser.ParseFile(tk.fset, name, f.text,
		parser.ParseComments|parser.SkipObjectResolution))
	f.base, f.decls = int(f.tree.FileStart), slices.Clone(f.tree.Decls)
	for _, spec := range f.tree.Imports {
		tk.imports = append(tk.imports, testenv.Must(strconv.Unquote(spec.Path.Value)))
	}
	tk.files = append(tk.files, f)
}

// findPackages makes an importer of what the files import.
func (tk *taking) findPackages(t *testing.T, dir string) {
	t.Helper()
	slices.Sort(tk.imports)
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	export := map[string]string{}
	out := command(t, dir, "go", append(args, slices.Compact(tk.imports)...)...)
	for line := range strings.Lines(out) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		export[path] = file
	}
	tk.importer = importer.ForCompiler(tk.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(export[path])
	})
}

// exclude leaves out what is declared by the first file too, and the exceptions.
func (tk *taking) exclude() {
	own := map[string]string{}
	for _, decl := range tk.files[0].decls {
		for _, name := range names(decl) {
			own[name] = "declared by " + supportFile
		}
	}
	for _, f := range tk.files {
		f.decls = slices.DeleteFunc(f.decls, func(decl ast.Decl) bool {
			for _, name := range names(decl) {
				reason := except[name]
				if f != tk.files[0] {
					reason = cmp.Or(reason, own[name])
				}
				if reason != "" {
					tk.leave(decl, reason)
					return true
				}
			}
			return false
		})
	}
}

// check leaves out declarations with errors until there is none. It returns the
// imports that are not used then.
func (tk *taking) check(t *testing.T) (unused []token.Pos) {
	t.Helper()
	for {
		wrong := map[ast.Decl]string{}
		unused = nil
		conf := types.Config{Importer: tk.importer, Sizes: types.SizesFor("gc", runtime.GOARCH)}
		conf.Error = func(err error) {
			e := err.(types.Error)
			if strings.HasPrefix(e.Msg, "\t") { // belongs to the error before
				return
			}
			decl := tk.at(e.Pos)
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.IMPORT && e.Soft {
				unused = append(unused, e.Pos)
			} else if decl == nil || ok && gen.Tok == token.IMPORT {
				t.Fatal(err)
			} else if wrong[decl] == "" {
				wrong[decl] = e.Msg
			}
		}
		var trees []*ast.File
		for _, f := range tk.files {
			tree := *f.tree
			tree.Decls = f.decls
			trees = append(trees, &tree)
		}
		conf.Check("tls", tk.fset, trees, nil) // the errors are seen above
		if len(wrong) == 0 {
			return unused
		}
		for _, f := range tk.files {
			f.decls = slices.DeleteFunc(f.decls, func(decl ast.Decl) bool {
				return wrong[decl] != ""
			})
		}
		for decl, reason := range wrong {
			tk.leave(decl, reason)
		}
	}
}

// at returns the declaration at a position.
func (tk *taking) at(pos token.Pos) ast.Decl {
	for _, f := range tk.files {
		for _, decl := range f.decls {
			if decl.Pos() <= pos && pos < decl.End() {
				return decl
			}
		}
	}
	return nil
}

// leave notes why a declaration is left out. If that is the lack of another one,
// the reason has why that is.
func (tk *taking) leave(decl ast.Decl, reason string) {
	if other, ok := strings.CutPrefix(reason, "undefined: "); ok && tk.left[other] != "" {
		reason = other + ": " + tk.left[other]
	}
	reason, _, _ = strings.Cut(reason, "\n")
	for _, name := range names(decl) {
		tk.left[name] = reason
	}
}

// names returns what a declaration declares, but for methods.
func names(decl ast.Decl) (all []string) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil && decl.Name.Name != "init" {
			all = append(all, decl.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				all = append(all, spec.Name.Name)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					all = append(all, id.Name)
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "_" })
}

// tests returns the names of the tests that a declaration declares.
func tests(decl ast.Decl) []string {
	if _, ok := decl.(*ast.FuncDecl); !ok {
		return nil
	}
	return slices.DeleteFunc(names(decl), func(name string) bool { return !isTest(name) })
}

func isTest(name string) bool { return strings.HasPrefix(name, "Test") && name != "TestMain" }
