package http_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	stdhttp "net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// generator makes up the bytes that a client may send. A seed makes the same
// bytes again.
type generator struct{ *rand.Rand }

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

// rare returns s in one case of twenty.
func (g generator) rare(s string) string {
	if g.IntN(20) == 0 {
		return s
	}
	return ""
}

func (g generator) target() string {
	t := g.one("/", "/a", "/a/b?c=d", "/%41", "//x", "/"+strings.Repeat("p", g.IntN(200)))
	sep := "?"
	if strings.Contains(t, "?") {
		sep = "&"
	}
	for range g.IntN(4) {
		t += sep + g.one("how=flush", "how=long", "how=none", "how=parts", "how=copy",
			"how=string", "how=huge", "how=late", "read=no", "code=404", "code=204", "code=304",
			"code=103",
			"header=X:y", "header=Content-Type:a/b", "header=Connection:close",
			"header=Content-Length:20", "header=Trailer:Late", "header=Content-Encoding:x")
		sep = "&"
	}
	if g.IntN(60) == 0 {
		t = g.one("*", "http://h/x", "x", "/%z", "/a b", "", "/\x01", "/\xff")
	}
	return t
}

func (g generator) header() string {
	var b strings.Builder
	if g.IntN(40) > 0 {
		b.WriteString(g.one("Host", "host", "HOST") + ":" + g.one(" ", "", "\t") +
			g.one("a", "localhost:80", "[::1]:8") + g.rare(" b") + "\r\n")
	}
	for range g.IntN(5) {
		b.WriteString(g.one("Accept", "x-y", "User-Agent", "Cookie", "Connection", "Pragma", "Te",
			"X_Y", "If-None-Match", "Range") + g.rare(" ") + ":" + g.one(" ", "", "\t  ") +
			g.one("a", "keep-alive", "close", "x, close", "no-cache", "a=b; c=d", "", "\xe4",
				"bytes=0-1") +
			g.rare("\x00") + g.rare("\r\n fold") + g.rare("\r") + g.one(" ", "", "") + "\r\n")
	}
	if g.IntN(300) == 0 {
		b.WriteString(g.one("X\r\n", ": x\r\n", "X: y\n", " z: 1\r\n", "Host: again\r\n"))
	}
	return b.String()
}

// framed returns the fields that frame a body, and the body.
func (g generator) framed() string {
	body := strings.Repeat(g.one("x", "hello", "\r\n", "0"), g.IntN(20)*g.IntN(20))
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	case 1:
		var b strings.Builder
		b.WriteString("Transfer-Encoding: " +
			g.one("chunked", "Chunked", "chunked"+g.rare(", gzip")) + "\r\n" +
			g.rare("Trailer: T\r\n") + g.rare("Content-Length: 3\r\n") + "\r\n")
		for len(body) > 0 {
			n := 1 + g.IntN(len(body))
			fmt.Fprintf(&b, "%x%s\r\n%s\r\n", n, g.rare(";e=f"), body[:n])
			body = body[n:]
		}
		return b.String() + "0\r\n" + g.rare("T: u\r\n") + "\r\n"
	case 2:
		return "Content-Length: " + g.one("0", "1", "+1", "-1", "a", "1, 1",
			"1\r\nContent-Length: 1", "1\r\nContent-Length: 2",
			"99999999999999999999") + "\r\n\r\n" + g.one("", "x")
	case 3:
		return fmt.Sprintf("Expect: %s\r\nContent-Length: %d\r\n\r\n%s", g.one("100-continue", "x"),
			len(body), body)
	}
	return "\r\n"
}

func (g generator) request() string {
	return g.rare("\r\n") + g.one("GET", "POST", "HEAD", "PUT", "OPTIONS", "x", "GET", "POST") +
		" " + g.target() + " " + g.one("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0") +
		g.rare(g.one("1", " ", "\t")) + g.one("\r\n", "\r\n", "\r\n"+g.rare("\n")) +
		g.header() + g.framed()
}

// stream returns the bytes of one client, in parts.
func (g generator) stream() (parts [][]byte) {
	var all []byte
	for range 1 + g.IntN(3)*g.IntN(2) {
		all = append(all, g.request()...)
	}
	// The client leaves in the middle; the releases of Go differ about a body
	// that was waited for.
	if g.IntN(20) == 0 && !bytes.Contains(all, []byte("Expect")) {
		all = all[:g.IntN(len(all))]
	}
	if g.IntN(20) == 0 && len(all) > 0 {
		all[g.IntN(len(all)+1)%len(all)] = byte(g.IntN(256))
	}
	for g.IntN(3) == 0 && len(all) > 0 {
		n := g.IntN(len(all))
		parts = append(parts, all[:n])
		all = all[n:]
	}
	return append(parts, all)
}

var firstSeed = flag.Uint64("seed", 0, "the first seed of the generated requests")

// TestAsStandardServer: the answers are net/http's, whatever a client sends.
// -seed=N begins with another seed; at full length, eight clients run at a
// time.
func TestAsStandardServer(t *testing.T) {
	testrun.Start(t, 2)
	ours, theirs := both(t, http.HandlerFunc(shows))
	clients, requests := 1, uint64(500)
	if testenv.Full() {
		clients, requests = 8, uint64(testenv.Rounds(20_000))
	}
	var seeds atomic.Uint64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for !t.Failed() {
				n := seeds.Add(1) - 1
				if n >= requests {
					return
				}
				sameForSeed(t, ours, theirs, *firstSeed+n)
			}
		})
	}
	all.Wait()
}

func sameForSeed(t *testing.T, ours, theirs string, seed uint64) {
	parts := generator{rand.New(rand.NewPCG(seed, 24))}.stream()
	var got, want string
	for range 10 { // a reset may overtake an answer
		want, _ = talk(theirs, parts...)
		if got, _ = talk(ours, parts...); got == want {
			return
		}
	}
	t.Errorf("seed %d: %q\n%.2000s\nnet/http:\n%.2000s", seed, parts, got, want)
}

// FuzzRequest: each head that the package parses itself is a request for
// http.ReadRequest, and the same one.
func FuzzRequest(f *testing.F) {
	for _, r := range requests() {
		f.Add([]byte(r))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		own := http.ParseHead(p)
		if own == nil {
			return // left to http.ReadRequest
		}
		std, err := stdhttp.ReadRequest(bufio.NewReader(bytes.NewReader(p)))
		if err != nil {
			t.Fatalf("%q: accepted here, not by net/http: %v", p, err)
		}
		got, want := describe(own), describe(std)
		if got != want {
			t.Fatalf("%q:\n%s\nnet/http:\n%s", p, got, want)
		}
	})
}

// describe returns all parts of a head.
func describe(r *http.Request) string {
	return fmt.Sprintf("%s %s %q %s %d %d %q %d %v %v %v", r.Method, r.URL, r.RequestURI, r.Proto,
		r.ProtoMajor, r.ProtoMinor, r.Host, r.ContentLength, r.TransferEncoding, r.Close, r.Header)
}
