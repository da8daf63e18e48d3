package port

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/imports"

	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

// edit replaces a part of a file.
type edit struct {
	span
	text string
	of   *statement // whose lines it has, or nil
}

// rewrite makes the new text of a file: formatted, with its imports where
// goimports puts them if the rest of them is so.
func (f *file) rewrite() error {
	var edits []edit
	needsNetco := false
	for _, s := range f.statements {
		if s.why != "" {
			continue
		}
		needsNetco = needsNetco || s.imports
		if !slices.ContainsFunc(f.statements, func(of *statement) bool {
			return of.why == "" && of.contains(s)
		}) {
			edits = append(edits, edit{s.span, f.render(s), s})
		}
	}
	if len(edits) == 0 && (len(f.imports) == 0 || f.stays()) {
		return nil
	}
	more, err := f.importEdits(needsNetco)
	if err != nil {
		return err
	}
	edits = append(edits, more...)
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(f.src[at:e.from])
		first := bytes.Count(out.Bytes(), []byte("\n")) + 1
		out.WriteString(e.text)
		if e.of != nil {
			e.of.lines = span{first, bytes.Count(out.Bytes(), []byte("\n")) + 1}
		}
		at = e.to
	}
	out.Write(f.src[at:])
	text, err := format.Source(out.Bytes())
	if err != nil {
		return err
	}
	if ordered(f.src) {
		if text, err = order(text); err != nil {
			return err
		}
	}
	shift := bytes.Count(text, []byte("\n")) - bytes.Count(out.Bytes(), []byte("\n"))
	for _, s := range f.statements { // imports are what formatting gives lines or takes them from
		s.lines.from, s.lines.to = s.lines.from+shift, s.lines.to+shift
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

// importEdits changes a file's imports: those of net, if they are to change, and
// netco's own, if it is needed.
func (f *file) importEdits(needsNetco bool) (edits []edit, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, f.name, f.src, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	e := &importEditor{src: f.src, base: int(file.FileStart)}
	var decls []*ast.GenDecl
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			decls = append(decls, d)
		}
	}
	var added []string
	if needsNetco {
		added = append(added, strconv.Quote(module))
	}
	goes := func(spec ast.Spec) bool {
		return !f.stays() && ported(spec)
	}
	into := -1 // the block that gets what is added
	for i, d := range decls {
		if d.Lparen.IsValid() && (into < 0 || slices.ContainsFunc(d.Specs, goes)) {
			into = i
		}
	}
	if into < 0 && len(decls) == 1 { // it becomes a block
		d := decls[0]
		var specs []string
		if spec := d.Specs[0]; goes(spec) {
			added = append(added, e.moved(spec))
		} else {
			specs = append(specs, e.text(spec.Pos(), end(spec)))
		}
		if len(specs)+len(added) > 1 {
			e.block(d, specs, added)
		} else {
			e.replace(d.Specs[0].Pos(), end(d.Specs[0]), added[0])
		}
		return e.edits, nil
	}
	for i, d := range decls {
		for _, spec := range d.Specs {
			switch {
			case !goes(spec):
			case i == into && e.ownLines(d, spec):
				added = append(added, e.moved(spec))
				e.remove(spec)
			default:
				e.replace(spec.Pos(), end(spec), e.moved(spec))
			}
		}
	}
	switch {
	case len(added) == 0:
	case into >= 0:
		e.add(fset, decls[into], goes, added)
	case len(decls) > 0:
		last := decls[len(decls)-1].End()
		e.replace(last, last, "\nimport "+strings.Join(added, "\nimport "))
	default:
		e.replace(file.Name.End(), file.Name.End(), "\n\nimport "+added[0])
	}
	return e.edits, nil
}

// importEditor edits a file's imports.
type importEditor struct {
	src   []byte
	base  int
	edits []edit
}

func (e *importEditor) text(from, to token.Pos) string {
	return string(e.src[int(from)-e.base : int(to)-e.base])
}

func (e *importEditor) replace(from, to token.Pos, text string) {
	e.edits = append(e.edits, edit{span: span{int(from) - e.base, int(to) - e.base}, text: text})
}

// ported reports whether an import is one that a port changes.
func ported(spec ast.Spec) bool { return slices.Contains(vet.Ported, importPath(spec)) }

func importPath(spec ast.Spec) string {
	path, _ := strconv.Unquote(spec.(*ast.ImportSpec).Path.Value)
	return path
}

// moved is the source of an import as one of netco's package.
func (e *importEditor) moved(spec ast.Spec) string {
	path := spec.(*ast.ImportSpec).Path
	return e.text(spec.Pos(), path.Pos()) + strconv.Quote(vet.Ours(importPath(spec))) +
		e.text(path.End(), end(spec))
}

// end is where an import ends, with its comment.
func end(spec ast.Spec) token.Pos {
	if c := spec.(*ast.ImportSpec).Comment; c != nil {
		return c.End()
	}
	return spec.End()
}

// block makes a block of a declaration without parentheses.
func (e *importEditor) block(d *ast.GenDecl, specs, added []string) {
	text := "(\n\t"
	if len(specs) > 0 {
		text += strings.Join(specs, "\n\t") + "\n\n\t"
	}
	e.replace(d.Specs[0].Pos(), end(d.Specs[len(d.Specs)-1]), text+strings.Join(added, "\n\t")+
		"\n)")
}

// ownLines reports whether an import has its line to itself, with no comment
// above, in a block that has others.
func (e *importEditor) ownLines(d *ast.GenDecl, spec ast.Spec) bool {
	s := spec.(*ast.ImportSpec)
	if s.Doc != nil || len(d.Specs) == 1 {
		return false
	}
	from, to := e.line(spec)
	return strings.TrimSpace(string(e.src[from:to])) == e.text(spec.Pos(), end(spec))
}

// line returns where an import's line begins, and where the next one does.
func (e *importEditor) line(spec ast.Spec) (from, to int) {
	from = bytes.LastIndexByte(e.src[:int(spec.Pos())-e.base], '\n') + 1
	to = int(end(spec)) - e.base
	if n := bytes.IndexByte(e.src[to:], '\n'); n >= 0 {
		return from, to + n + 1
	}
	return from, len(e.src)
}

func (e *importEditor) remove(spec ast.Spec) {
	from, to := e.line(spec)
	e.edits = append(e.edits, edit{span: span{from, to}})
}

// add adds imports to a block: to the lines of imports of other modules' that
// have the most in common with netco, or as lines of their own at the end.
func (e *importEditor) add(
	fset *token.FileSet, d *ast.GenDecl, goes func(ast.Spec) bool, added []string,
) {
	if len(d.Specs) == 0 {
		e.replace(d.Lparen+1, d.Lparen+1, "\n\t"+strings.Join(added, "\n\t"))
		return
	}
	leaves := func(spec ast.Spec) bool { return goes(spec) && e.ownLines(d, spec) }
	var best ast.Spec
	common, line, ofOthers := -1, -1, false
	for i, spec := range d.Specs {
		s := spec.(*ast.ImportSpec)
		path := importPath(spec)
		if goes(spec) && !leaves(spec) {
			path = vet.Ours(path)
		}
		first, _, _ := strings.Cut(path, "/")
		begin := s.Pos()
		if s.Doc != nil {
			begin = s.Doc.Pos()
		}
		if i == 0 || fset.Position(begin).Line > line+1 {
			ofOthers = false
		}
		line = fset.Position(s.End()).Line
		ofOthers = ofOthers || strings.Contains(first, ".")
		if n := prefix(path, module); ofOthers && n >= common && !leaves(spec) {
			best, common = spec, n
		}
	}
	between := "\n\t"
	if best == nil {
		between = "\n\n\t"
		for _, spec := range d.Specs {
			if !leaves(spec) {
				best = spec
			}
		}
	}
	if best == nil { // all of them go
		e.replace(d.Rparen, d.Rparen, "\t"+strings.Join(added, "\n\t")+"\n")
		return
	}
	_, next := e.line(best)
	at := token.Pos(next - 1 + e.base)
	if e.src[next-1] != '\n' || d.Rparen < at { // in one line
		at, between = best.End(), "; "
		e.replace(at, at, between+strings.Join(added, between))
		return
	}
	e.replace(at, at, between+strings.Join(added, "\n\t"))
}

// prefix is how many bytes two paths begin with in common.
func prefix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
