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
		if got != want {
			t.Errorf("%.50q: %v byte by byte, %v at once", input.input, got, want)
		}
	}
}
