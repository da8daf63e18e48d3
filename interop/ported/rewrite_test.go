package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRewriteStatements(t *testing.T) {
	started := func(before, call string) string {
		return before + "if _, err := netco.Go(" + call + "); err != nil { panic(err) }"
	}
	for _, test := range []struct{ name, before, after string }{
		{"function literal", "go func() { f() }()", started("", "func() { f() }")},
		{"no arguments", "go f()", started("{ netcoFunc := f; ", "func() { netcoFunc() }") + " }"},
		{
			"arguments", "go c.serve(<-in, y)",
			started("{ netcoFunc, netcoArg0, netcoArg1 := c.serve, <-in, y; ",
				"func() { netcoFunc(netcoArg0, netcoArg1) }") + " }",
		},
		{
			"literals", `go f(nil, x, 1, "a", true)`,
			started("{ netcoFunc, netcoArg1 := f, x; ",
				`func() { netcoFunc(nil, netcoArg1, 1, "a", true) }`) + " }",
		},
		{
			"variadic", "go f(x, all...)",
			started("{ netcoFunc, netcoArg0, netcoArg1 := f, x, all; ",
				"func() { netcoFunc(netcoArg0, netcoArg1...) }") + " }",
		},
		{
			"a result", "go func() int { return 1 }()",
			started("{ netcoFunc := func() int { return 1 }; ", "func() { netcoFunc() }") + " }",
		},
		{
			"one in the other", "go func() { go f() }()",
			started("", "func() { "+started("{ netcoFunc := f; ", "func() { netcoFunc() }")+" } }"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := func(imports, body string) string {
				return "package p" + imports + "\n\n// A.\nfunc g() {\n\t" + body + " // why\n}\n"
			}
			got, err := rewrite("p.go", file("", test.before),
				change{statements: true, imports: true})
			want := file(`; import "github.com/netco-go/netco"`, test.after)
			if err != nil || got != want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

func TestRewriteImports(t *testing.T) {
	src := `package p

import (
	"net"
	other "net"
	"net/http"
)

func f() { go f() }
`
	got, err := rewrite("p.go", src, change{imports: true})
	want := strings.ReplaceAll(src, `"net"`, `"github.com/netco-go/netco/net"`)
	if err != nil || got != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}

// TestRewriteKeepsMeaning: a program that finds out when function and arguments
// are evaluated writes the same before and after.
func TestRewriteKeepsMeaning(t *testing.T) {
	src, err := os.ReadFile("testdata/meaning.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	run := func(c change) string {
		text, err := rewrite("main.go", string(src), c)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := (&module{path: "example.org/meaning"}).requireNetco(dir); err != nil {
			t.Fatal(err)
		}
		out, err := command(dir, "go", "run", "-mod=mod", ".")
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before, after := run(change{}), run(change{statements: true})
	if before != after || strings.Count(before, "\n") < 5 {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}
