// Command parity holds a package of netco against the one of the standard
// library whose names it has, as the toolchain that runs it has both: it prints
// what differs, and how many names it has compared. It stands apart from the
// tests for what it imports, which takes seconds to build.
//
//	parity theirs ours name...
//
// The names are the types that are netco's own: they have all members of the
// standard's. Behind a plus sign they are what only ours has. Everything else
// must be identical.
package main

import (
	"bytes"
	"fmt"
	"go/constant"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const module = "github.com/netco-go/netco/"

var (
	theirPath, ourPath string
	replaced           []string // the types that are netco's own
)

// load returns the two packages.
func load() (std, ours *types.Package) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}}={{.Export}}{{end}}", theirPath, ourPath)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatalf("%v: %s", err, stderr.Bytes())
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			files[path] = file
		}
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(files[path])
	})
	if std, err = from.Import(theirPath); err != nil {
		log.Fatal(err)
	}
	if ours, err = from.Import(ourPath); err != nil {
		log.Fatal(err)
	}
	return std, ours
}

func main() {
	theirPath, ourPath, replaced = os.Args[1], os.Args[2], os.Args[3:]
	std, ours := load()
	names(std, ours)
	replacements(std, ours)
	fmt.Println("compared", compared)
}

var compared int

// names: what the standard's package exports is exported by ours too, and nothing
// else.
func names(std, ours *types.Package) {
	for _, name := range std.Scope().Names() {
		if !token.IsExported(name) {
			continue
		}
		compared++
		if wrong := differ(std.Scope().Lookup(name), ours.Scope().Lookup(name)); wrong != "" {
			fmt.Printf("%s: %s\n", name, wrong)
		}
	}
	for _, name := range ours.Scope().Names() {
		if token.IsExported(name) && std.Scope().Lookup(name) == nil && !slices.Contains(replaced, "+"+name) {
			fmt.Printf("%s is not in the standard's package\n", name)
		}
	}
}

// differ tells why ours cannot stand for theirs, or "".
func differ(theirs, ours types.Object) string {
	if ours == nil {
		return "is missing"
	}
	if fmt.Sprintf("%T", theirs) != fmt.Sprintf("%T", ours) {
		return fmt.Sprintf("is a %T, here a %T", theirs, ours)
	}
	switch theirs := theirs.(type) {
	case *types.Const:
		if !constant.Compare(theirs.Val(), token.EQL, ours.(*types.Const).Val()) {
			return fmt.Sprintf("is %v, here %v", theirs.Val(), ours.(*types.Const).Val())
		}
	case *types.TypeName:
		if slices.Contains(replaced, theirs.Name()) {
			return "" // see replacements
		}
		if !types.Identical(theirs.Type(), ours.Type()) {
			return fmt.Sprintf("is another type here, %v", ours.Type())
		}
		return ""
	}
	if want, got := shape(theirs.Type()), shape(ours.Type()); want != got {
		return fmt.Sprintf("is %s, here %s", want, got)
	}
	return ""
}

// shape writes a type as a program sees it that knows either package by the
// standard's path: without the names of parameters.
func shape(typ types.Type) string {
	sig, ok := typ.(*types.Signature)
	if !ok {
		return types.TypeString(typ, asStandard)
	}
	unnamed := func(tuple *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range tuple.Variables() {
			vars = append(vars, types.NewVar(token.NoPos, nil, "", v.Type()))
		}
		return types.NewTuple(vars...)
	}
	return types.TypeString(types.NewSignatureType(nil, nil, nil, unnamed(sig.Params()), unnamed(sig.Results()), sig.Variadic()), asStandard)
}

// asStandard is a types.Qualifier: netco's packages count as the compared one,
// but for those that have package net's types.
func asStandard(p *types.Package) string {
	switch path := p.Path(); {
	case path == module+"net", path == module+"socket":
		return "net"
	case strings.HasPrefix(path, module):
		return theirPath
	default:
		return path
	}
}

// replacements: the types that are not the standard's have all its methods and
// fields.
func replacements(std, ours *types.Package) {
	for _, name := range replaced {
		if strings.HasPrefix(name, "+") {
			continue
		}
		theirs, mine := std.Scope().Lookup(name), ours.Scope().Lookup(name)
		if theirs == nil || mine == nil {
			fmt.Printf("%s: it is not a type of both packages\n", name)
			continue
		}
		want, got := members(theirs.Type()), members(mine.Type())
		for member, is := range want {
			compared++
			if token.IsExported(member) && got[member] != is {
				fmt.Printf("%s.%s is %s, here %q\n", name, member, is, got[member])
			}
		}
	}
}

// members returns the shapes of a type's methods, those of its pointer
// included, and of its fields; under Kind whether it is a struct, or else what
// it is.
func members(typ types.Type) map[string]string {
	all := map[string]string{"Kind": shape(typ.Underlying())}
	set := types.NewMethodSet(types.NewPointer(typ))
	for method := range set.Methods() {
		all[method.Obj().Name()] = shape(method.Type())
	}
	if s, ok := typ.Underlying().(*types.Struct); ok {
		all["Kind"] = "struct"
		for field := range s.Fields() {
			all[field.Name()] = "field " + shape(field.Type())
		}
	}
	return all
}
