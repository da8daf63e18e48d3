package port

import (
	"bytes"
	"errors"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strconv"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/imports"
)

// edit replaces the bytes from from to to of a file.
type edit struct {
	from, to int
	text     string
}

// editsOf are an analyzer's edits of one file.
func editsOf(fset *token.FileSet, edits []analysis.TextEdit) (all []edit) {
	for _, e := range edits {
		all = append(all, edit{fset.PositionFor(e.Pos, false).Offset,
			fset.PositionFor(e.End, false).Offset, string(e.NewText)})
	}
	return all
}

// overlap reports whether one of edits changes what one of others does. What
// both add is made once.
func overlap(edits, others []edit) bool {
	return slices.ContainsFunc(edits, func(e edit) bool {
		return slices.ContainsFunc(others, func(o edit) bool {
			return e != o && e.from < o.to && o.from < e.to
		})
	})
}

// apply makes edits of a file. What they import stands where goimports puts it.
func apply(src []byte, edits []edit) ([]byte, error) {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for i, e := range edits {
		if slices.Contains(edits[:i], e) {
			continue // the import that several statements need
		}
		if e.from < at {
			return nil, errors.New("edits overlap")
		}
		out.Write(src[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(src[at:])
	made, err := regroup(out.Bytes(), importsOf(src))
	if before, not := order(src); err == nil && not == nil && bytes.Equal(before, src) {
		made, err = order(made)
	}
	return made, err
}

// order sorts and groups imports, as goimports does. What is so stays so.
func order(src []byte) ([]byte, error) {
	return imports.Process("", src, &imports.Options{
		FormatOnly: true, Comments: true, TabIndent: true, TabWidth: 8,
	})
}

// regroup puts the imports of a text that had does not have where others of
// their kind are. One with a comment stays there.
func regroup(text []byte, had map[string]bool) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, spec := range slices.Clone(f.Imports) {
		path, name := importPath(spec), ""
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if !had[path] && spec.Doc == nil && spec.Comment == nil && len(f.Imports) > 1 {
			astutil.DeleteNamedImport(fset, f, name, path)
			astutil.AddNamedImport(fset, f, name, path)
		}
	}
	var out bytes.Buffer
	err = format.Node(&out, fset, f)
	return out.Bytes(), err
}

func importPath(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value)
	return path
}

// importsOf are the paths of a text's imports.
func importsOf(text []byte) map[string]bool {
	paths := map[string]bool{}
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	if err == nil {
		for _, spec := range f.Imports {
			paths[importPath(spec)] = true
		}
	}
	return paths
}
