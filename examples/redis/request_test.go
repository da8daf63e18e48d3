package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCutBetweenParts: each byte of a request is looked at once, however the
// request is cut. Cut between two parts it was parsed from its start at every
// try: in quadratic time, 0.8 s of a Processor for one connection's request.
func TestCutBetweenParts(t *testing.T) {
	parts := make([]string, 1000)
	for i := range parts {
		parts[i] = fmt.Sprint(i)
	}
	whole := []byte(request(parts...))
	var r parser
	for have := len("*1000\r\n"); have < len(whole); {
		p := bytes.Clone(whole[:have]) // in other memory, as when a buffer grows
		for i := range p[1:max(r.at, 1)] {
			p[1+i] = '!' // a parser that looks there again takes offence
		}
		if _, used, _, err := r.next(p); used != 0 || err != nil {
			t.Fatalf("%d bytes of %d: used %d, %v", have, len(whole), used, err)
		}
		have += bytes.IndexByte(whole[have:], '\n') + 1 // the length of a part, and then the part
	}
	args, used, _, err := r.next(whole)
	if used != len(whole) || err != nil ||
		!slices.EqualFunc(args, parts, func(a []byte, s string) bool { return string(a) == s }) {
		t.Errorf("%q, %d, %v", args, used, err)
	}
}

// TestCutLine is the same for a line without an end: 64 KiB byte by byte were
// two GiB to look through.
func TestCutLine(t *testing.T) {
	whole := []byte("SET key " + strings.Repeat("x", 1000) + "\r\n")
	var r parser
	for have := 1; have < len(whole); have++ {
		p := bytes.Clone(whole[:have])
		for i := range p[1:max(r.at, 1)] {
			p[1+i] = '\n'
		}
		if _, used, _, err := r.next(p); used != 0 || err != nil {
			t.Fatalf("%d bytes of %d: used %d, %v", have, len(whole), used, err)
		}
	}
	args, used, _, err := r.next(whole)
	if used != len(whole) || err != nil || len(args) != 3 || len(args[2]) != 1000 {
		t.Errorf("%q, %d, %v", args, used, err)
	}
}

// TestCutAlike: what is wrong with a request is the same however it is cut.
func TestCutAlike(t *testing.T) {
	for _, input := range append(slices.Clone(malformed),
		struct{ input, want string }{"*" + strings.Repeat("0", 40) + "1\r\n$1\r\nx\r\n", ""}) {
		if len(input.input) > 1000 {
			continue
		}
		_, _, _, want := new(parser).next([]byte(input.input))
		var r parser
		var got error
		for n := 1; n <= len(input.input) && got == nil; n++ {
			_, _, _, got = r.next([]byte(input.input[:n]))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%.50q: %v byte by byte, %v at once", input.input, got, want)
		}
	}
}

// TestFewTries: a request of many parts that comes in byte by byte is not
// parsed again from the start for each of them.
func TestFewTries(t *testing.T) {
	parts := make([]string, maxArgs)
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
