// Package godebug stands for internal/godebug: every setting has its default.
package godebug

type Setting struct{}

func New(string) *Setting { return new(Setting) }

func (*Setting) Value() string { return "" }

func (*Setting) IncNonDefault() {}
