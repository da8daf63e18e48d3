package htmlreport

import (
	"regexp"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// sample has each part of a page, with names that try to break out of it.
func sample() Page {
	const rude = `</script><b>"tcp://127.0.0.1:8080/a/very/long/path?with=a&query"`
	return Page{Title: rude, Subtitle: "today", Sections: []Section{{
		Heading: "Results " + rude, Text: []string{rude}, Warnings: []string{rude},
		Tables: []Table{{Caption: rude, Head: Words("", rude), Rows: [][]Cell{{{Text: rude},
			{Text: "1,234.5 ms", Hint: rude, Tone: "good"}}}}, {Caption: "Empty"}},
		Chart: Chart{Title: rude, Marks: []Mark{{0, "left"}, {1, rude}}, Lines: []Line{
			{rude, []Point{{0, 0}, {0.5, 2e3}, {1, 1e6}}}, {"b", []Point{{1, 10}}}, {Name: "c"}}},
	}, {Chart: Chart{Title: "Nothing"}}}}
}

func write(t *testing.T, p Page) string {
	t.Helper()
	var b strings.Builder
	testenv.OK(t, Write(&b, p))
	return b.String()
}

// TestSelfContained: the page names no other file and has no script, and what
// results are called stays text.
func TestSelfContained(t *testing.T) {
	page := write(t, sample())
	if found := regexp.MustCompile(`(src|href)="?(https?:|//|[\w/.]+\.(js|css))`).FindString(
		page); found != "" {
		t.Errorf("the page loads %q", found)
	}
	for part, want := range map[string]int{"<script": 0, "</script": 0, "<b>": 0, "<figure": 1,
		"<polyline": 3, "<table": 1, "<h2": 1, "role=\"note\"": 1, "ZgotmplZ": 0,
		"(prefers-color-scheme: dark)": 1, "Content-Security-Policy": 1} {
		if got := strings.Count(page, part); got != want {
			t.Errorf("%d times %q, want %d", got, part, want)
		}
	}
}

// TestChart: latencies are placed by their logarithms between powers of ten.
func TestChart(t *testing.T) {
	page := write(t, sample())
	for _, want := range []string{
		`points="60.0,280.0 370.0,128.7 680.0,5.0 "`, `points="680.0,234.2 "`,
		`y1="280" y2="280"/><text x="54" y="280" dy="4" text-anchor="end">1 ns</text>`,
		`y="5" dy="4" text-anchor="end">1 ms</text>`, `<text x="60" y="296"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	// One value alone has a decade around it.
	one := write(t, Page{Sections: []Section{{Chart: Chart{Lines: []Line{{"a",
		[]Point{{0, 100}}}}}}}})
	if !strings.Contains(one, ">100 ns<") || !strings.Contains(one, ">1 µs<") {
		t.Errorf("no decade in\n%s", one)
	}
}
