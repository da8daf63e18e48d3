package vet

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// channels rewrites the channels of a package to channel.Chan, all of one type
// of element or none: a channel can only be assigned to one with the same
// elements, so these meet no others. What keeps a type of element from being
// rewritten is any use that has no counterpart, such as another package's
// function that takes or returns one.
type channels struct {
	*pkg
	kept    map[string]string // types of elements whose channels stay, with the reason
	mixed   [][]string        // those that meet in one select: all or none
	selects map[*ast.SelectStmt]bool
	inCase  map[ast.Stmt]bool // the communications of selects
	edits   []analysis.TextEdit
	imports map[*ast.File]bool
	clash   string // why nothing is rewritten, such as a name that is taken
}

// chanFix rewrites the package's channels, if those of all xs are among them.
func (p *pkg) chanFix(xs ...ast.Expr) fixer {
	return func() ([]analysis.SuggestedFix, string) {
		if p.chans == nil {
			p.chans = p.rewriteChannels()
		}
		if p.chans.clash != "" {
			return nil, p.chans.clash
		}
		for _, x := range xs {
			elem := p.elem(x)
			if elem == "" {
				return nil, "it is in generic code"
			}
			if why := p.chans.kept[elem]; why != "" && !p.isAfter(x) {
				return nil, "all channels of " + elem + " have to change, and " + why
			}
		}
		return one("Use netco/channel for all channels of these types in this package",
			p.chans.edits)
	}
}

func isChan(t types.Type) bool { _, ok := t.(*types.Chan); return ok }

// elem names the type of x's elements, or is "" if x is no channel.
func (p *pkg) elem(x ast.Expr) string {
	if t := p.TypesInfo.TypeOf(x); t != nil {
		return elemOf(t)
	}
	return ""
}

func elemOf(t types.Type) string {
	if c, ok := t.Underlying().(*types.Chan); ok {
		return types.TypeString(c.Elem(), nil)
	}
	return ""
}

// isAfter reports whether x is a call of time.After.
func (p *pkg) isAfter(x ast.Expr) bool {
	fn := p.called(x)
	return fn != nil && funcKey(fn) == "time.After"
}

func (p *pkg) rewriteChannels() *channels {
	c := &channels{
		pkg: p, kept: map[string]string{}, selects: map[*ast.SelectStmt]bool{},
		inCase: map[ast.Stmt]bool{}, imports: map[*ast.File]bool{},
	}
	for _, f := range p.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectStmt); ok {
				c.noteSelect(s)
			}
			return true
		})
	}
	c.keepExported()
	for _, f := range p.Files {
		ast.Inspect(f, func(n ast.Node) bool { c.check(n); return true })
	}
	for changed := true; changed; {
		changed = false
		for _, set := range c.mixed {
			why, all := "", true
			for _, e := range set {
				why, all = cmp.Or(why, c.kept[e]), all && c.kept[e] != ""
			}
			if why != "" && !all {
				changed = true
				for _, e := range set {
					c.keepElem(e, why+", with which a select has them")
				}
			}
		}
	}
	for _, f := range p.Files {
		ast.Inspect(f, func(n ast.Node) bool { c.rewrite(n); return true })
	}
	c.clash = cmp.Or(c.clash, p.unseen(""))
	for _, f := range p.Files {
		if !c.imports[f] {
			continue
		}
		_, edits, ok := p.importName(f.Name.End(), "channel")
		if !ok {
			c.clash = nameTaken
		}
		c.edits = append(c.edits, edits...)
	}
	if c.clash != "" {
		c.edits = nil
	}
	return c
}

// keep keeps all channels that t is written with. why follows the place at.
func (c *channels) keep(t types.Type, at ast.Node, why string) {
	c.keepIn(t, c.posn(at.Pos())+" "+why)
}

func (c *channels) keepIn(t types.Type, why string) {
	mentions(t, func(t types.Type) bool {
		if e := elemOf(t); e != "" {
			c.keepElem(e, why)
		}
		return false
	})
}

// keepElem keeps all channels of a type of element. The first reason counts.
func (c *channels) keepElem(elem, why string) {
	if c.kept[elem] == "" {
		c.kept[elem] = why
	}
}

// keepOne keeps the channels like x.
func (c *channels) keepOne(x ast.Expr, why string) { c.keepElem(c.elem(x), c.posn(x.Pos())+" "+why) }

// keepExported keeps what other packages see.
func (c *channels) keepExported() {
	c.exports(func(t types.Type) bool {
		c.keepIn(t, "other packages see some of them")
		return false
	})
}

// noteSelect notes a select's cases, and keeps the channels of one that has no
// counterpart.
func (c *channels) noteSelect(s *ast.SelectStmt) {
	var set []string
	fine := len(s.Body.List) > 0
	ast.Inspect(s, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		fine = fine && !(ok && ownNames.MatchString(id.Name))
		return fine
	})
	if _, labelled := c.parents[s].(*ast.LabeledStmt); labelled {
		fine = false
	}
	for _, cl := range s.Body.List {
		comm := cl.(*ast.CommClause).Comm
		if comm == nil {
			continue
		}
		c.inCase[comm] = true
		fine = fine && c.movable(comm)
		ch := commChan(comm)
		if c.isAfter(ch) {
			fine = fine && c.nothing(comm)
			if _, _, ok := c.importName(ch.Pos(), "."); !ok {
				fine = false
			}
			continue
		}
		set = append(set, c.elem(ch))
		fine = fine && c.elem(ch) != "" && c.textOf(ch) != ""
		if _, ok := ast.Unparen(ch).(*ast.CallExpr); ok {
			if fn := c.called(ch); fn == nil || fn.Pkg() != c.Pkg {
				fine = false // such as ctx.Done()
			}
		}
	}
	if len(set) == 0 {
		fine = false // only times: to be written by hand
	}
	if c.selects[s] = fine; !fine {
		for _, e := range set {
			c.keepElem(e, c.posn(s.Pos())+" has a select that has no counterpart")
		}
	}
	c.mixed = append(c.mixed, set)
}

// movable reports whether a case's operands may stand elsewhere as they are:
// nothing within them is rewritten.
func (c *channels) movable(comm ast.Stmt) bool {
	fine, receives := true, 0
	ast.Inspect(comm, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.ChanType:
			fine = false
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				receives++
			}
		case *ast.CallExpr:
			if c.TypesInfo.Types[n.Fun].IsBuiltin() && len(n.Args) > 0 && c.elem(n.Args[0]) != "" {
				fine = false
			}
		}
		return fine
	})
	if _, sends := comm.(*ast.SendStmt); sends {
		return fine && receives == 0
	}
	return fine && receives == 1
}

// nothing reports whether a case receives into nothing.
func (c *channels) nothing(comm ast.Stmt) bool { _, ok := comm.(*ast.ExprStmt); return ok }

// textOf is the type of a channel's elements as the source has it, or "" if it
// cannot be written where the channel stands.
func (c *channels) textOf(ch ast.Expr) string {
	t, ok := types.Unalias(c.TypesInfo.TypeOf(ch)).Underlying().(*types.Chan)
	if !ok || mentions(t.Elem(), isChan) {
		return ""
	}
	f, good := c.file(ch.Pos()), true
	text := types.TypeString(t.Elem(), func(other *types.Package) string {
		if other == c.Pkg {
			return ""
		}
		for _, spec := range f.Imports {
			name := c.TypesInfo.PkgNameOf(spec)
			if name != nil && name.Imported() == other && name.Name() != "." {
				return name.Name()
			}
		}
		good = false
		return other.Name()
	})
	tv, err := types.Eval(c.Fset, c.Pkg, ch.Pos(), text)
	if !good || err != nil || !tv.IsType() || !types.Identical(tv.Type, t.Elem()) {
		return ""
	}
	return text
}

// check keeps the channels that n uses in a way that has no counterpart.
func (c *channels) check(n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		c.checkCall(n)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW && c.receiveForm(n) == "" {
			if fn := c.calleeElsewhere(n.X); fn == nil {
				c.keepOne(n.X, "receives within another expression")
			}
		}
	case *ast.StarExpr:
		if c.elem(n) != "" && !c.TypesInfo.Types[n].IsType() {
			c.keepOne(n, "uses one by a pointer") // *p.Recv() is another thing
		}
	case *ast.Ident:
		obj := c.TypesInfo.Uses[n]
		if v, ok := obj.(*types.Var); ok && v.Pkg() != c.Pkg {
			c.keep(v.Type(), n, "has one of another package's") // a field or variable of another package
		}
	case *ast.TypeSpec:
		if n.TypeParams != nil {
			c.keepAllIn(n)
		}
		if named, ok := c.TypesInfo.TypeOf(n.Name).(*types.Named); ok && named.NumMethods() > 0 {
			if e := elemOf(named); e != "" {
				c.keepOne(n.Name, "has methods for one")
			}
		}
	case *ast.FuncDecl:
		if n.Type.TypeParams != nil {
			c.keepAllIn(n)
		}
	case *ast.TypeAssertExpr:
		if n.Type != nil {
			c.keep(c.TypesInfo.TypeOf(n.Type), n, "asserts its type")
		}
	case *ast.CaseClause:
		for _, e := range n.List {
			if c.TypesInfo.Types[e].IsType() {
				c.keep(c.TypesInfo.TypeOf(e), e, "asserts its type")
			}
		}
	case *ast.InterfaceType:
		c.keep(c.TypesInfo.TypeOf(n), n, "has an interface with it")
	case *ast.AssignStmt:
		for i, l := range n.Lhs {
			if len(n.Lhs) == len(n.Rhs) {
				c.toInterface(c.TypesInfo.TypeOf(l), n.Rhs[i])
			}
		}
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				c.toInterface(c.TypesInfo.TypeOf(kv.Key), kv.Value)
			}
		}
	}
}

// keepAllIn keeps all channels in generic code.
func (c *channels) keepAllIn(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if t := c.TypesInfo.TypeOf(e); t != nil {
				c.keep(t, e, "is generic code")
			}
		}
		return true
	})
}

// toInterface keeps a channel that becomes a value of an interface.
func (c *channels) toInterface(to types.Type, x ast.Expr) {
	from := c.TypesInfo.TypeOf(x)
	if to != nil && from != nil && types.IsInterface(to) && !types.IsInterface(from) {
		c.keep(from, x, "makes an interface of it")
	}
}

// calleeElsewhere returns the function of another package that x calls.
func (c *channels) calleeElsewhere(x ast.Expr) *types.Func {
	if fn := c.called(x); fn != nil && fn.Pkg() != c.Pkg {
		return fn
	}
	return nil
}

func (c *channels) checkCall(call *ast.CallExpr) {
	tv := c.TypesInfo.Types[call.Fun]
	switch {
	case tv.IsType(): // a conversion
		if len(call.Args) == 1 && elemOf(tv.Type) != "" || types.IsInterface(tv.Type) {
			c.keep(c.TypesInfo.TypeOf(call.Args[0]), call, "converts it")
			c.keep(tv.Type, call, "converts it")
		}
		return
	case tv.IsBuiltin():
		id, ok := ast.Unparen(call.Fun).(*ast.Ident)
		if !ok || id.Name == "print" || id.Name == "println" { // or one of package unsafe
			for _, a := range call.Args {
				c.keep(c.TypesInfo.TypeOf(a), a, "hands it to "+types.ExprString(call.Fun))
			}
		} else if id.Name == "make" {
			e := c.elem(call.Args[0])
			if _, literal := call.Args[0].(*ast.ChanType); e != "" && !literal &&
				c.textOf(call.Args[0]) == "" {
				c.keepOne(call.Args[0], "makes one of a type that cannot be written there")
			}
		}
		return
	}
	sig, ok := tv.Type.Underlying().(*types.Signature)
	if !ok {
		return
	}
	for i, a := range call.Args {
		to := sig.Params().At(min(i, sig.Params().Len()-1)).Type()
		rest := sig.Variadic() && i >= sig.Params().Len()-1 && !call.Ellipsis.IsValid()
		if s, ok := to.(*types.Slice); ok && rest {
			to = s.Elem()
		}
		c.toInterface(to, a)
	}
	fn := c.static(call.Fun)
	if fn == nil || fn.Pkg() == c.Pkg {
		return
	}
	if u, ok := c.parents[call].(*ast.UnaryExpr); ok && u.Op == token.ARROW {
		return // a receive from another package's channel stays
	}
	c.keep(sig, call, "calls "+funcKey(fn)+", which takes or returns one")
}

// receiveForm is how a receive is written: "statement", "one" or "two" for an
// assignment of one or two values, "case" of a select, or "" for others.
func (c *channels) receiveForm(x *ast.UnaryExpr) string {
	if ast.Unparen(x.X) != x.X {
		return ""
	}
	if _, ok := x.X.(*ast.UnaryExpr); ok {
		return ""
	}
	switch up := c.parents[x].(type) {
	case *ast.ExprStmt:
		if c.inCase[up] {
			return "case"
		}
		return "statement"
	case *ast.AssignStmt:
		if c.inCase[up] {
			return "case"
		}
		if len(up.Rhs) == 1 && (up.Tok == token.ASSIGN || up.Tok == token.DEFINE) {
			return []string{"", "one", "two"}[len(up.Lhs)]
		}
	case *ast.ValueSpec:
		if len(up.Values) == 1 && up.Type == nil {
			return []string{"", "one", "two"}[min(len(up.Names), 2)]
		}
	}
	return ""
}

func (c *channels) edit(from, to token.Pos, text string) {
	c.edits = append(c.edits, replace(from, to, text))
	if strings.Contains(text, "channel.") {
		c.imports[c.file(from)] = true
		name, _, ok := c.importName(from, "channel")
		if !ok || name != "channel" {
			c.clash = nameTaken
		}
	}
}

// moves reports whether channels like x are rewritten.
func (c *channels) moves(x ast.Expr) bool {
	e := c.elem(x)
	return e != "" && c.kept[e] == ""
}

// rewrite edits what n says of channels. The edits of nested nodes do not
// overlap.
func (c *channels) rewrite(n ast.Node) {
	switch n := n.(type) {
	case *ast.ChanType:
		if call, ok := c.parents[n].(*ast.CallExpr); ok && c.isMake(call) {
			return // by the call
		}
		if c.moves(n) {
			if spec, ok := c.parents[n].(*ast.TypeSpec); ok && !spec.Assign.IsValid() {
				c.edit(n.Pos(), n.Value.Pos(), "= *channel.Chan[") // an alias, so that all are one type
			} else {
				c.edit(n.Pos(), n.Value.Pos(), "*channel.Chan[")
			}
			c.edit(n.Value.End(), n.Value.End(), "]")
		}
	case *ast.CallExpr:
		c.rewriteBuiltin(n)
	case *ast.SendStmt:
		if c.moves(n.Chan) && !c.inCase[n] {
			c.edit(n.Chan.End(), n.Value.Pos(), ".Send(")
			c.edit(n.Value.End(), n.Value.End(), ")")
		}
	case *ast.UnaryExpr:
		if n.Op == token.ARROW && c.moves(n.X) && c.calleeElsewhere(n.X) == nil {
			c.rewriteReceive(n)
		}
	case *ast.RangeStmt:
		if c.moves(n.X) {
			c.edit(n.X.End(), n.X.End(), ".All()")
		}
	case *ast.SelectStmt:
		if c.selects[n] && c.selectMoves(n) {
			c.rewriteSelect(n)
		}
	}
}

func (p *pkg) isMake(call *ast.CallExpr) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	return ok && id.Name == "make" && p.TypesInfo.Types[call.Fun].IsBuiltin()
}

func (c *channels) rewriteBuiltin(call *ast.CallExpr) {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || len(call.Args) == 0 || !c.TypesInfo.Types[call.Fun].IsBuiltin() ||
		!c.moves(call.Args[0]) {
		return
	}
	arg := call.Args[0]
	switch method := map[string]string{"close": "Close", "len": "Len", "cap": "Cap"}[id.Name]; {
	case method != "":
		c.edit(call.Pos(), arg.Pos(), "")
		c.edit(arg.End(), call.End(), "."+method+"()")
	case id.Name == "make":
		if t, ok := arg.(*ast.ChanType); ok {
			c.edit(call.Pos(), t.Value.Pos(), "channel.Make[")
		} else {
			c.edit(call.Pos(), arg.End(), "channel.Make["+c.textOf(arg))
		}
		if len(call.Args) == 1 {
			c.edit(arg.End(), call.End(), "](0)")
		} else {
			c.edit(arg.End(), call.Args[1].Pos(), "](")
		}
	}
}

func (c *channels) rewriteReceive(n *ast.UnaryExpr) {
	form := c.receiveForm(n)
	if form == "case" || form == "" {
		return
	}
	if form == "one" {
		switch up := c.parents[n].(type) {
		case *ast.AssignStmt:
			c.edit(up.Lhs[0].End(), up.Lhs[0].End(), ", _")
		case *ast.ValueSpec:
			c.edit(up.Names[0].End(), up.Names[0].End(), ", _")
		}
	}
	c.edit(n.Pos(), n.X.Pos(), "")
	c.edit(n.X.End(), n.X.End(), ".Recv()")
}

// selectMoves reports whether all channels of a select are rewritten.
func (c *channels) selectMoves(s *ast.SelectStmt) bool {
	for _, cl := range s.Body.List {
		if comm := cl.(*ast.CommClause).Comm; comm != nil {
			if ch := commChan(comm); !c.isAfter(ch) && !c.moves(ch) {
				return false
			}
		}
	}
	return true
}

// rewriteSelect makes a switch over channel.Select of a select.
func (c *channels) rewriteSelect(s *ast.SelectStmt) {
	var vars, cases []string
	usesErr := false
	type head struct {
		from, to token.Pos
		text     string
	}
	var heads []head
	for i, cl := range s.Body.List {
		cl := cl.(*ast.CommClause)
		text := fmt.Sprintf("case %d:", i)
		if i == len(s.Body.List)-1 && lastOf(c.parents[s]) == ast.Stmt(s) {
			// It may be what ends its function: the compiler is to see that one runs.
			text = "default:"
		}
		switch comm := cl.Comm.(type) {
		case nil:
			cases = append(cases, "channel.Default()")
		case *ast.SendStmt:
			cases = append(cases, c.receiver(comm.Chan)+".SendCase("+c.operand(comm.Value)+")")
		case *ast.ExprStmt:
			cases = append(cases, c.receiver(commChan(comm))+".RecvCase(nil)")
		case *ast.AssignStmt:
			ch, v := commChan(comm), fmt.Sprintf("recv%d", i)
			vars = append(vars, "var "+v+" "+c.textOf(ch)+"\n")
			cases = append(cases, c.receiver(ch)+".RecvCase(&"+v+")")
			left, right := c.operand(comm.Lhs[0]), v
			if len(comm.Lhs) == 2 {
				left, right, usesErr = left+", "+c.operand(comm.Lhs[1]), right+
					", recvErr == nil", true
			}
			text += "\n" + left + " " + comm.Tok.String() + " " + right
		}
		heads = append(heads, head{cl.Case, cl.Colon + 1, text})
	}
	index := "which, _"
	if usesErr {
		index = "which, recvErr"
	}
	open, shut := "", ""
	if len(vars) > 0 {
		open, shut = "{\n"+strings.Join(vars, ""), "\n}"
	}
	c.edit(s.Select, s.Body.Lbrace,
		open+"switch "+index+" := channel.Select("+strings.Join(cases, ", ")+"); which ")
	for _, h := range heads {
		c.edit(h.from, h.to, h.text)
	}
	if shut != "" {
		c.edit(s.Body.Rbrace+1, s.Body.Rbrace+1, shut)
	}
}

// ownNames are the variables that a rewritten select declares.
var ownNames = regexp.MustCompile(`^(which|recvErr|recv[0-9]+)$`)

// operand is the text of an operand of a select's case.
func (c *channels) operand(x ast.Expr) string {
	if c.isAfter(x) {
		name, edits, _ := c.importName(x.Pos(), ".")
		c.edits = append(c.edits, edits...)
		return name + ".After(" + c.written(ast.Unparen(x).(*ast.CallExpr).Args[0]) + ")"
	}
	return c.written(x)
}

// receiver is operand where a method is called on it.
func (c *channels) receiver(x ast.Expr) string {
	if _, ok := x.(*ast.StarExpr); ok {
		return "(" + c.operand(x) + ")"
	}
	return c.operand(x)
}

// written is an expression as the source has it, without comments.
func (c *channels) written(x ast.Expr) string {
	var b bytes.Buffer
	if err := format.Node(&b, c.Fset, x); err != nil {
		c.clash = "a select cannot be written"
	}
	return b.String()
}

// lastOf returns the last statement of a block or clause, or nil.
func lastOf(x ast.Node) ast.Stmt {
	var list []ast.Stmt
	switch x := x.(type) {
	case *ast.BlockStmt:
		list = x.List
	case *ast.CaseClause:
		list = x.Body
	case *ast.CommClause:
		list = x.Body
	}
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}
