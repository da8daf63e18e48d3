package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestInline: how a line is split.
func TestInline(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{"  \t ", nil},
		{"a b  c", []string{"a", "b", "c"}},
		{`"a b" 'c d'`, []string{"a b", "c d"}},
		{`"\x41\n\r\t\b\a\"\\\q" '\n\''`, []string{"A\n\r\t\b\a\"\\q", `\n'`}},
		{`"" ''`, []string{"", ""}},
		{`a"b c"`, []string{"ab c"}},
		{`"\x4"`, []string{"x4"}},
	} {
		args, ok := words([]byte(c.line), nil)
		var got []string
		for _, a := range args {
			got = append(got, string(a))
		}
		if !ok || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v, want %q", c.line, got, ok, c.want)
		}
	}
	for _, line := range []string{`"`, `'`, `"a`, `'a`, `"a"b`, `'a'b`, `"\`, `'\'`} {
		if args, ok := words([]byte(line), nil); ok {
			t.Errorf("%q: %q", line, args)
		}
	}
}

// TestFewTries: a request of many parts that comes in byte by byte is not
// parsed again from the start for each of them.
func TestFewTries(t *testing.T) {
	parts := make([]string, 50_000)
	for i := range parts {
		parts[i] = strings.Repeat("x", i%7)
	}
	p := []byte(request(parts...))
	work := 0
	var r parser
	for have := 1; ; {
		args, used, need, err := r.next(p[:have])
		if err != nil {
			t.Fatal(err)
		}
		work += have
		if used > 0 {
			if used != len(p) || len(args) != len(parts) {
				t.Errorf("%d bytes, %d parts", used, len(args))
			}
			break
		}
		have = max(have+1, need)
		if have > len(p) {
			t.Fatalf("wants %d bytes of %d", have, len(p))
		}
	}
	if work > 100*len(p) {
		t.Errorf("looked at %d bytes for a request of %d", work, len(p))
	}
}

// FuzzParse: whatever the input, the parser takes no more than there is, and
// what it finds, written as clients do, it finds again; of that it finds
// nothing wrong with any part of it, and never asks for more than there is to
// come.
func FuzzParse(f *testing.F) {
	for _, m := range malformed {
		if len(m.input) < 1000 {
			f.Add([]byte(m.input))
		}
	}
	f.Add([]byte(request("SET", "key", "value", "EX", "10")))
	f.Add([]byte("*0\r\n*-1\r\n\r\nPING\r\n"))
	f.Add([]byte(`set "a\x00b" 'c\'d'` + "\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		var r parser
		for len(p) > 0 {
			original := bytes.Clone(p)
			args, used, need, err := r.next(p)
			if !bytes.Equal(p, original) {
				t.Fatalf("%q was changed to %q", original, p)
			}
			if err != nil {
				if used != 0 || len(err.Error()) > 200 {
					t.Fatalf("%d, %v", used, err)
				}
				return
			}
			if used == 0 {
				if need < 0 || need > maxRequest+6*maxArgs {
					t.Fatalf("%q needs %d", p, need)
				}
				return
			}
			if used > len(p) {
				t.Fatalf("used %d of %q", used, p)
			}
			if len(args) > 0 {
				again(t, args)
			}
			p = p[used:]
		}
	})
}

func again(t *testing.T, args [][]byte) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	p := b.Bytes()
	var bytewise parser
	for n := 1; n < len(p); n++ {
		for _, r := range []*parser{{}, &bytewise} {
			if _, used, need, err := r.next(p[:n]); used != 0 || err != nil || need > len(p) {
				t.Fatalf("%q: used %d, needs %d, %v", p[:n], used, need, err)
			}
		}
	}
	got, used, _, err := bytewise.next(p)
	if used != len(p) || err != nil || !slices.EqualFunc(got, args, bytes.Equal) {
		t.Fatalf("%q: %q, %d, %v", p, got, used, err)
	}
}
