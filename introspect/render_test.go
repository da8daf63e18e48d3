package introspect

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestNamesCannotHarm: whatever a name, a stack or an address holds, a page
// shows it as text, in one piece, and cut.
func TestNamesCannotHarm(t *testing.T) {
	long := strings.Repeat("long \u00e4", 20_000)
	for _, c := range []struct{ name, shown string }{
		{"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
		{`"><img src=x onerror=alert(1)>`, "&#34;&gt;&lt;img src=x onerror=alert(1)&gt;"},
		{"' onmouseover='x", "&#39; onmouseover=&#39;x"},
		{"</td></tr></table></style></title>", "&lt;/td&gt;"},
		{"{{.Opt}}", "{{.Opt}}"},
		{"right\u202eleft\u2066isolate\u200f", `right\u202eleft\u2066isolate\u200f`},
		{"a\x00b\x1b[31mred\r\nnext", `a\u0000b\u001b[31mred\u000d\u000anext`},
		{"bad \xff\xfe utf", `bad \xff\xfe utf`},
		{"fine: Grüße 世界 🙂", "fine: Grüße 世界 🙂"},
		{long, "long ä"},
	} {
		f := newFake(3)
		f.coroutine = func(i int, s *seen) {
			madeUp(i, s)
			s.Name, s.Func, s.File, s.WaitsFor = c.name, c.name, "/src/"+c.name, c.name
		}
		f.stalls = func() []scheduler.Stall {
			return []scheduler.Stall{{Name: c.name, Site: c.name, Cause: c.name, Detail: c.name,
				Stack: c.name + "\n\tat\n"}}
		}
		h := f.handler(Options{AllowStop: true})
		for _, page := range []string{"", "coroutines", "coroutines?group=name",
			"coroutines?group=site", "coroutine?id=1&stack=1", "stalls",
			"coroutines?name=%22%3E%3Cscript%3E"} {
			text, _ := get(t, h, "/"+page, 200)
			if len(c.name) < 1000 {
				wellFormed(t, page, text)
			}
			if !strings.Contains(text, c.shown) && !strings.Contains(page, "?name") &&
				!strings.Contains(page, "=site") && page != "" {
				t.Errorf("%q: %.40q is not shown as %q", page, c.name, c.shown)
			}
			if strings.Contains(text, "<script") || strings.Contains(text, "<img") ||
				strings.ContainsAny(text, "\u202e\u2066\u200f\x00\x1b\r") ||
				strings.Contains(text, "\xff") {
				t.Errorf("%q: %.40q is in it as it is", page, c.name)
			}
			limit := 60 << 10
			if strings.Contains(page, "stalls") {
				limit += maxStack
			}
			if len(text) > limit {
				t.Errorf("%q: a page of %d bytes for a long name", page, len(text))
			}
		}
		for _, page := range []string{"coroutines", "coroutine"} {
			text, _ := get(t, h, "/"+page+".json?id=1", 200)
			if strings.ContainsAny(text, "<>") || len(text) > 30<<10 {
				t.Errorf("%s as JSON: %d bytes", page, len(text))
			}
		}
		got := getJSON[coroutineJSON](t, h, "/coroutine.json?id=1").Name
		if len(c.name) < maxText && got != strings.ToValidUTF8(c.name, "\ufffd\ufffd") {
			t.Errorf("as JSON %q became %q", c.name, got)
		}
	}
}

func TestShow(t *testing.T) {
	for _, c := range []struct {
		ns   int64
		want string
	}{
		{-1, "–"}, {0, "0"}, {999, "999 ns"}, {1000, "1.00 µs"}, {9_996, "10.0 µs"},
		{123_456, "123 µs"}, {2_860_000, "2.86 ms"}, {1e9, "1.00 s"},
		{59_900_000_000, "59.9 s"}, {61e9, "1 m 01 s"}, {3_725e9, "1 h 02 m"},
		{int64(50 * time.Hour), "2 d 02 h"},
	} {
		testenv.Equal(t, span(c.ns), c.want, "span of", c.ns)
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1\u202f000",
		1234567: "1\u202f234\u202f567", -12345: "-12\u202f345"} {
		testenv.Equal(t, count(n), want, "count of", n)
	}
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1024: "1.00 KiB",
		1 << 30: "1.00 GiB", 1<<64 - 1: "16.0 EiB", 1<<20 - 1: "1.00 MiB"} {
		testenv.Equal(t, amount(n), want, "amount of", n)
	}
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"short", 5, "short"}, {"shorter", 5, "short…"}, {"äöü", 3, "ä…"}, {"世界", 2, "…"},
		{"", 0, ""}} {
		testenv.Equal(t, cut(c.s, c.n), c.want, "cut of", c.s, c.n)
	}
}

// TestQuantile: quantiles are upper bounds, and no more than the longest.
func TestQuantile(t *testing.T) {
	lengths := make([]uint64, 20)
	lengths[0], lengths[3], lengths[19] = 98, 1, 1
	for q, want := range map[float64]int64{0.5: 1024, 0.98: 1024, 0.99: 8192, 1: 9e9} {
		testenv.Equal(t, quantile(lengths, 9e9, q), want, "the quantile", q)
	}
	if quantile(make([]uint64, 20), 0, 0.5) != 0 || quantile([]uint64{0, 0, 1}, 3000, 0.5) != 3000 {
		t.Error("a quantile is above the longest")
	}
}

// TestNarrowRows: on a narrow screen no column lies outside of it: each row of
// a table of many columns is a block, in which each cell bears the name of its
// column. At 390 pixels three of seven columns were to be seen.
func TestNarrowRows(t *testing.T) {
	h := newFake(40).handler(Options{})
	tables := regexp.MustCompile(`(?s)<table[^>]*>.*?</table>`)
	rows := regexp.MustCompile(`(?s)<tr>.*?</tr>`)
	cells := regexp.MustCompile(`<t[dh][ >][^>]*>`)
	heads := regexp.MustCompile(`(?s)<thead>.*?</thead>`)
	seen := 0
	for _, page := range []string{"", "coroutines", "coroutines?group=name", "sockets",
		"stalls"} {
		text, _ := get(t, h, "/x/"+page, 200)
		for _, table := range tables.FindAllString(text, -1) {
			columns := len(cells.FindAllString(heads.FindString(table), -1))
			if columns <= 3 {
				continue
			}
			seen++
			if !strings.Contains(table[:strings.IndexByte(table, '>')], "cards") {
				t.Errorf("%q: a table of %d columns without the class cards", page, columns)
			}
			for _, row := range rows.FindAllString(table[strings.Index(table, "<tbody>"):], -1) {
				for i, cell := range cells.FindAllString(row, -1) {
					if !strings.Contains(cell, `data-label="`) &&
						!(i == 0 && strings.Contains(cell, `scope="row"`)) {
						t.Errorf("%q: a cell without a label: %s", page, cell)
					}
				}
			}
		}
	}
	testenv.Equal(t, seen, 7, "tables")
	_, narrow, _ := strings.Cut(style, "@media (max-width: 40rem)")
	for _, rule := range []string{".cards tbody tr { display: block;", "content: attr(data-label)",
		"white-space: normal; overflow-wrap: anywhere;"} {
		if !strings.Contains(narrow, rule) {
			t.Errorf("the style for narrow screens has no %q", rule)
		}
	}
}

var update = flag.Bool("update", false, "write testdata/answers.json anew")

// TestAnswers holds the JSON of each page against testdata/answers.json and
// docs/PAGES.md, so that a field that programs read does not go unseen. go test
// -update writes the former anew.
func TestAnswers(t *testing.T) {
	once(t)
	var answers struct {
		Overview   overviewJSON   `json:"overview"`
		Coroutines coroutinesJSON `json:"coroutines"`
		Groups     groupsJSON     `json:"groups"`
		Coroutine  coroutineJSON  `json:"coroutine"`
		Sockets    socketsJSON    `json:"sockets"`
		Requests   requestsJSON   `json:"requests"`
		Stalls     stallsJSON     `json:"stalls"`
		Failure    failureJSON    `json:"error"`
	}
	n := 0
	fill(reflect.ValueOf(&answers).Elem(), &n)
	got := append(testenv.Must(json.MarshalIndent(answers, "", "\t")), '\n')
	const golden = "testdata/answers.json"
	if *update {
		testenv.OK(t, os.WriteFile(golden, got, 0o644))
	}
	testenv.Equal(t, string(testenv.Must(os.ReadFile(golden))), string(got),
		"the answers are not those of", golden, "go test -update writes it anew")
	page := string(testenv.Must(os.ReadFile("../docs/PAGES.md")))
	for _, key := range regexp.MustCompile(`"\w+":`).FindAllString(string(got), -1) {
		if name := strings.Trim(key, `":`); !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/PAGES.md does not name the field %s", name)
		}
	}
}

// fill gives every field of the JSON a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*n), 0).UTC()))
			return
		}
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case f.Tag.Get("json") == "-":
				continue
			case f.Anonymous: // its fields are numbered, it is not
				*n--
			}
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]uint64{"lock": uint64(*n)}))
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) / 2)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	default:
		v.SetUint(uint64(*n))
	}
}
