package port

import (
	"bytes"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/imports"

	"github.com/netco-go/netco/cmd/netco-vet/internal/edit"
	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

// rewrite makes the new text of a file: formatted, with its imports where
// goimports puts them if the rest of them is so.
func (f *file) rewrite() error {
	var edits []*edit.Edit
	needsNetco := false
	for _, s := range f.statements {
		s.made = nil
		if s.why != "" {
			continue
		}
		needsNetco = needsNetco || s.imports
		if !slices.ContainsFunc(f.statements, func(of *statement) bool {
			return of.why == "" && of.contains(s)
		}) {
			s.made = &edit.Edit{From: s.from, To: s.to, Text: f.render(s)}
			edits = append(edits, s.made)
		}
	}
	if len(edits) == 0 && (len(f.imports) == 0 || f.stays()) {
		return nil
	}
	made, err := edit.Apply(f.src, edits)
	if err != nil {
		return err
	}
	text, err := edit.ChangeImports(made, edits, func(fset *token.FileSet, file *ast.File) {
		f.changeImports(fset, file, needsNetco)
	})
	if err != nil {
		return err
	}
	if ordered(f.src) {
		if text, err = order(text); err != nil {
			return err
		}
	}
	if !bytes.Equal(text, f.src) {
		f.after = text
	}
	return nil
}

// contains reports whether another go statement stands in s.
func (s *statement) contains(of *statement) bool {
	return s != of && s.from <= of.from && of.to <= s.to
}

// render returns what replaces a go statement, with those in the function that
// it calls replaced too.
func (f *file) render(s *statement) string {
	var inner []*statement
	for _, of := range f.statements {
		if of.why == "" && s.contains(of) {
			inner = append(inner, of)
		}
	}
	inner = slices.DeleteFunc(inner, func(of *statement) bool {
		return slices.ContainsFunc(inner, func(outer *statement) bool { return outer.contains(of) })
	})
	slices.SortFunc(inner, func(a, b *statement) int { return b.from - a.from })
	text := s.text
	begin := strings.Index(text, string(f.src[s.literal.from:s.literal.to]))
	for _, of := range inner { // the last one first
		if of.from < s.literal.from || of.to > s.literal.to || begin < 0 {
			of.leave("it stands within an argument of another one")
			continue
		}
		from, to := begin+of.from-s.literal.from, begin+of.to-s.literal.from
		text = text[:from] + f.render(of) + text[to:]
	}
	return text
}

// order sorts and groups imports, as goimports does.
func order(src []byte) ([]byte, error) {
	return imports.Process("", src, &imports.Options{
		FormatOnly: true, Comments: true, TabIndent: true, TabWidth: 8,
	})
}

func ordered(src []byte) bool {
	text, err := order(src)
	return err == nil && bytes.Equal(text, src)
}

// changeImports changes the imports of net, if they are to change, and adds
// netco's own, if it is needed.
func (f *file) changeImports(fset *token.FileSet, file *ast.File, needsNetco bool) {
	for _, spec := range slices.Clone(file.Imports) {
		if f.stays() || !ported(spec) {
			continue
		}
		path, name := importPath(spec), ""
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if spec.Doc != nil || spec.Comment != nil || len(file.Imports) == 1 {
			astutil.RewriteImport(fset, file, path, vet.Ours(path)) // where its comment is
			continue
		}
		astutil.AddNamedImport(fset, file, name, vet.Ours(path))
		astutil.DeleteNamedImport(fset, file, name, path)
	}
	if needsNetco {
		astutil.AddImport(fset, file, module)
	}
}

// ported reports whether an import is one that a port changes.
func ported(spec *ast.ImportSpec) bool { return slices.Contains(vet.Ported, importPath(spec)) }

func importPath(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value)
	return path
}
