package gen

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// feed gives b to a codec's answer in pieces, as a connection does, and returns
// the verdicts.
func feed(answer func([]byte) (int, verdict, error), b []byte, piece int) (all []verdict,
	err error) {
	var pending []byte
	for len(b) > 0 {
		n := min(piece, len(b))
		pending = append(pending, b[:n]...)
		b = b[n:]
		for len(pending) > 0 {
			n, v, err := answer(pending)
			if err != nil {
				return all, err
			}
			if pending = pending[n:]; v == 0 {
				break
			}
			all = append(all, v)
		}
	}
	if len(pending) > 0 {
		err = errors.New("incomplete")
	}
	return all, err
}

var pieces = []int{1, 2, 3, 7, 1 << 20}

type parserCase struct {
	name, input string
	want        []verdict // nil: a wrong answer
}

func checkParser(t *testing.T, cases []parserCase, parser func() func([]byte) (int, verdict,
	error)) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, piece := range pieces {
				got, err := feed(parser(), []byte(c.input), piece)
				if c.want == nil && !errors.Is(err, errWrong) || c.want != nil &&
					(err != nil || !slices.Equal(got, c.want)) {
					t.Errorf("in pieces of %d: %#x, %v, want %#x", piece, got, err, c.want)
				}
			}
		})
	}
}

func status(n int, bits verdict) verdict { return complete | verdict(n)<<statusShift | bits }

const head200 = "HTTP/1.1 200 OK\r\nServer: x\r\n"

var httpCases = []parserCase{
	{"length", head200 + "Content-Length: 5\r\n\r\nHello", []verdict{status(200, 0)}},
	{"two", strings.Repeat(head200+"content-LENGTH:2\r\n\r\nab", 2),
		[]verdict{status(200, 0), status(200, 0)}},
	{"empty", head200 + "Content-Length: 0\r\n\r\n", []verdict{status(200, 0)}},
	{"bare line ends", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", []verdict{status(200, 0)}},
	{"chunked", head200 + "Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n1A;x=y\r\n" +
		strings.Repeat("z", 26) + "\r\n0\r\nX: y\r\n\r\n", []verdict{status(200, 0)}},
	{"close", head200 + "Connection: Close\r\nContent-Length: 1\r\n\r\nx",
		[]verdict{status(200, last)}},
	{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", []verdict{status(200, last)}},
	{"1.0 kept", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
		[]verdict{status(200, 0)}},
	{"404", "HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx", []verdict{status(404, failed)}},
	{"no reason", "HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n", []verdict{status(503, failed)}},
	{"204", "HTTP/1.1 204 No Content\r\n\r\n", []verdict{status(204, 0)}},
	{"304 with length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
		[]verdict{status(304, 0)}},
	{"100", "HTTP/1.1 100 Continue\r\n\r\n" + head200 + "Content-Length: 1\r\n\r\nx",
		[]verdict{status(200, 0)}},
	{"101", "HTTP/1.1 101 Switching Protocols\r\n\r\n", nil},
	{"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", nil},
	{"odd status", "HTTP/1.1 2x0 OK\r\n\r\n", nil},
	{"odd length", head200 + "Content-Length: -5\r\n\r\n", nil},
	{"two lengths", head200 + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", nil},
	{"odd chunk", head200 + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", nil},
	{"huge chunk", head200 + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n", nil},
}

func newHTTPParser() func([]byte) (int, verdict, error) { return new(httpParser).answer }

func TestHTTPParser(t *testing.T) {
	checkParser(t, httpCases, newHTTPParser)
	checkParser(t,
		[]parserCase{{"HEAD", head200 + "Content-Length: 99\r\n\r\n", []verdict{status(200, 0)}}},
		func() func([]byte) (int, verdict, error) { return (&httpParser{head: true}).answer })

	var p httpParser // a body that the end of the stream ends
	if _, v, err := p.answer([]byte(head200 + "\r\nbody")); v != 0 || err != nil ||
		p.end() != status(200, last) || p.end() != 0 {
		t.Errorf("%#x, %v", v, err)
	}
}

var respCases = []parserCase{
	{"simple", "+OK\r\n:5\r\n_\r\n#t\r\n,1.5\r\n(99\r\n", []verdict{1, 1, 1, 1, 1, 1}},
	{"error", "-ERR no\r\n+OK\r\n", []verdict{complete | failed, complete}},
	{"bulk", "$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n", []verdict{1, 1, 1}},
	{"array", "*2\r\n$1\r\nx\r\n*2\r\n:1\r\n*0\r\n+next\r\n", []verdict{1, 1}},
	{"null array", "*-1\r\n", []verdict{1}},
	{"RESP3", "%1\r\n+a\r\n~2\r\n:1\r\n:2\r\n|1\r\n+k\r\n+v\r\n=7\r\ntxt:abc\r\n!3\r\nERR\r\n",
		[]verdict{1, 1, complete | failed}},
	{"empty line", "\r\n", nil},
	{"no RESP", "HTTP/1.1 200 OK\r\n", nil},
	{"odd length", "$x\r\n", nil},
	{"too long", "$999999999999\r\n", nil},
	{"negative", "*-2\r\n", nil},
}

func newRESPParser() func([]byte) (int, verdict, error) { return new(respParser).answer }

func TestRESPParser(t *testing.T) { checkParser(t, respCases, newRESPParser) }

// frame is an unmasked one, as servers send.
func frame(first byte, payload string) string {
	b := appendFrame(nil, 0, []byte(payload))
	b[0] = first
	b[1] &^= wsMask
	return string(b[:len(b)-len(payload)-4]) + payload
}

var wsCases = []parserCase{
	{"one", frame(0x82, "0123"), []verdict{1}},
	{"medium", frame(0x81, string(payload(300))), []verdict{1}},
	{"long", frame(0x82, string(payload(70_000))) + frame(0x82, "0"), []verdict{1, 1}},
	{"parts", frame(0x02, "01") + frame(0x89, "ping") + frame(0x00, "") + frame(0x80,
		"23") + frame(0x82, ""), []verdict{1, 1}},
	{"pong", frame(0x8A, "") + frame(0x82, "0"), []verdict{1}},
	{"wrong bytes", frame(0x82, "0124"), nil},
	{"too long", frame(0x82, string(payload(70_001))), nil},
	{"continued nothing", frame(0x80, "0"), nil},
	{"interrupted", frame(0x02, "0") + frame(0x82, "1"), nil},
	{"masked", string(appendFrame(nil, wsBinary, []byte("0"))), nil},
	{"reserved", frame(0xC2, "0"), nil},
	{"opcode", frame(0x83, "0"), nil},
	{"control opcode", frame(0x8B, ""), nil},
	{"control in parts", frame(0x09, ""), nil},
}

func newWSParser() func([]byte) (int, verdict, error) {
	return (&wsParser{payload: payload(70_000)}).answer
}

func TestWSParser(t *testing.T) {
	checkParser(t, wsCases, newWSParser)
	p := &wsParser{}
	if _, err := feed(p.answer, []byte(frame(0x89, "abc")), 1); err != nil ||
		string(p.pong) != string(appendFrame(nil, wsPong, []byte("abc"))) {
		t.Errorf("pong %q, %v", p.pong, err)
	}
	if _, err := feed(p.answer, []byte(frame(0x88, "")), 1); !errors.Is(err, errClosed) {
		t.Errorf("a close frame: %v", err)
	}
}

// fuzzParser checks that pieces do not matter, and that no input panics or
// keeps more than a head.
func fuzzParser(f *testing.F, cases []parserCase, parser func() func([]byte) (int, verdict,
	error)) {
	for _, c := range cases {
		f.Add([]byte(c.input), 3)
	}
	fuzzFeed(f, parser)
}

func fuzzFeed(f *testing.F, parser func() func([]byte) (int, verdict, error)) {
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		if piece < 1 || len(b) > 1<<12 {
			return
		}
		whole, err := feed(parser(), b, len(b)+1)
		cut, cutErr := feed(parser(), b, piece)
		if errors.Is(err, errWrong) != errors.Is(cutErr, errWrong) || !slices.Equal(whole, cut) {
			t.Errorf("as a whole %#x, %v; in pieces of %d %#x, %v", whole, err, piece, cut, cutErr)
		}
	})
}

func FuzzHTTP(f *testing.F) { fuzzParser(f, httpCases, newHTTPParser) }
func FuzzRESP(f *testing.F) { fuzzParser(f, respCases, newRESPParser) }
func FuzzWS(f *testing.F)   { fuzzParser(f, wsCases, newWSParser) }

func TestTemplates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	one := func(tmpl *template, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string((&sender{template: tmpl, rng: rng}).requests(2))
	}
	mix := Mix{{3, 1}}
	get := one(newHTTPTemplate(&httpPlan{method: "GET", targets: []string{"/a?b"}, host: "h",
		header: []string{"X: y"}}, mix, 1))
	if want := strings.Repeat("GET /a?b HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n", 2); get != want {
		t.Errorf("%q\nwant %q", get, want)
	}
	post := one(newHTTPTemplate(&httpPlan{method: "POST", targets: []string{"/{rand:1}"}, host: "h",
		body: "<{size}>"}, mix, 9))
	if want := strings.Repeat("POST /000000000000 HTTP/1.1\r\nHost: h\r\nContent-Length: "+
		"5\r\n\r\n<012>", 2); post != want {
		t.Errorf("%q\nwant %q", post, want)
	}
	set := one(newRESPTemplate("SET k:{rand}  {size}", mix, 2))
	if len(set)%2 != 0 || !strings.HasPrefix(set, "*3\r\n$3\r\nSET\r\n$14\r\nk:000000") ||
		!strings.HasSuffix(set, "\r\n$3\r\n012\r\n") {
		t.Errorf("%q", set)
	}
	if a, b := set[:len(set)/2], set[len(set)/2:]; a == b {
		t.Errorf("the same number twice: %q", a)
	}
	for _, bad := range []string{"{rand", "{rand:}", "{rand:0}", "{rand:x}", "{randy}"} {
		if _, err := newRESPTemplate("GET "+bad, mix, 1); err == nil ||
			!strings.Contains(err.Error(), "want {rand}") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := newRESPTemplate(" ", mix, 1); err == nil {
		t.Error("no command")
	}
	if _, err := newHTTPTemplate(&httpPlan{header: []string{"no colon"}}, mix, 1); err == nil {
		t.Error("a header without a colon")
	}
}

func TestEchoCodec(t *testing.T) {
	newEcho := func() *echo {
		m := Mix{{10, 1}, {300, 1}}
		e := &echo{mix: m, weights: 2, rng: rand.New(rand.NewPCG(1, 1)), stream: newStream(3000),
			verify: true, sendAt: streamPeriod - 5}
		e.reset()
		return e
	}
	for _, piece := range pieces {
		e := newEcho()
		for range 300 { // through the end of the period
			sent := bytes.Clone(e.requests(10))
			if got, err := feed(e.answer, sent, piece); len(got) != 10 || err != nil {
				t.Fatalf("in pieces of %d: %d answers, %v", piece, len(got), err)
			}
		}
	}
	for name, change := range map[string]func([]byte) []byte{
		"garbled": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"more":    func(b []byte) []byte { return append(b, 0) },
	} {
		e := newEcho()
		if _, err := feed(e.answer, change(bytes.Clone(e.requests(3))), 7); !errors.Is(err,
			errWrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequestsDoNotAllocate(t *testing.T) {
	tmpl, err := newRESPTemplate("SET k:{rand} {size}", Mix{{64, 1}, {128, 1}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	s := &sender{template: tmpl, rng: rand.New(rand.NewPCG(1, 1))}
	s.requests(8)
	var p httpParser
	answer := []byte(httpCases[0].input)
	if n := testing.AllocsPerRun(100, func() {
		s.requests(4)
		if _, v, _ := p.answer(answer); v == 0 {
			t.Error("incomplete")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
