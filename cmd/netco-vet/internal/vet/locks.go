package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// lock changes the state if c locks or unlocks a mutex of package sync.
func (w *walker) lock(c *ast.CallExpr, fn *types.Func, s *state) bool {
	switch h, op := w.mutex(c.Fun, fn); op {
	case "Lock", "RLock":
		s.held = append(s.held, h)
	case "Unlock", "RUnlock":
		s.held = slices.DeleteFunc(s.held, func(x held) bool { return x == h })
	default: // TryLock: held or not
		return false
	}
	return true
}

// mutex returns the mutex of package sync whose method x is, and what that does
// to it, "" if it is none's.
func (w *walker) mutex(x ast.Expr, fn *types.Func) (h held, op string) {
	sel, ok := ast.Unparen(x).(*ast.SelectorExpr)
	if !ok || fn == nil {
		return h, ""
	}
	typ, ok := strings.CutPrefix(funcKey(fn), "sync.")
	typ, op, _ = strings.Cut(typ, ".")
	if !ok || typ != "Mutex" && typ != "RWMutex" {
		return h, ""
	}
	return held{types.ExprString(sel.X), typ}, op
}

// unlockedBy drops the locks that a call may unlock for its caller: those of a
// type of which the function does so, or one that it is handed. Of a function
// that is not known it drops all that a literal of this function unlocks.
func (w *walker) unlockedBy(c *ast.CallExpr, of callee, s *state) {
	if len(s.held) == 0 {
		return
	}
	drop := func(body ast.Node) {
		for _, typ := range w.unlocks(body, map[ast.Node]bool{}) {
			s.held = slices.DeleteFunc(s.held, func(h held) bool { return h.typ == typ })
		}
	}
	value := func(x ast.Expr, of callee) {
		switch {
		case of.to != nil && of.to.body != nil:
			drop(of.to.body)
		case of.fn != nil && strings.HasPrefix(funcKey(of.fn), "sync.") &&
			strings.HasSuffix(of.fn.Name(), "Unlock"):
			if _, op := w.mutex(x, of.fn); op == "" { // a variable that has the method
				typ, _, _ := strings.Cut(shortName(of.fn), ".")
				s.held = slices.DeleteFunc(s.held, func(h held) bool { return h.typ == typ })
			}
		case !of.known() && of.by.v != nil:
			ast.Inspect(w.n.body, func(n ast.Node) bool {
				if lit, ok := n.(*ast.FuncLit); ok {
					drop(lit.Body)
				}
				return true
			})
		}
	}
	value(c.Fun, of)
	for _, arg := range c.Args {
		if _, ok := w.TypesInfo.TypeOf(arg).Underlying().(*types.Signature); ok {
			value(arg, w.callee(arg))
		}
	}
}

// unlocks returns the types of the locks that a function unlocks before it locks
// them, by itself or by this package's functions that it calls.
func (w *walker) unlocks(body ast.Node, seen map[ast.Node]bool) (typs []string) {
	if seen[body] {
		return nil
	}
	seen[body] = true
	locked := map[held]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn := w.static(c.Fun)
		switch h, op := w.mutex(c.Fun, fn); op {
		case "Lock", "RLock":
			locked[h] = true
		case "Unlock", "RUnlock":
			if !locked[h] {
				typs = append(typs, h.typ)
			}
		default:
			if fn != nil && w.decls[fn.Origin()] != nil {
				typs = append(typs, w.unlocks(w.decls[fn.Origin()].body, seen)...)
			}
		}
		return true
	})
	return typs
}
