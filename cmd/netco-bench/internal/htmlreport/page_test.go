package htmlreport

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// sample has each part of a page, with names that try to break out of it.
func sample() Page {
	const rude = `</script><b>"tcp://127.0.0.1:8080/a/very/long/path?with=a&query"`
	c := Chart{Title: "Latency by percentile " + rude, XLabel: "percentile", YLabel: "latency",
		XUnit: Percentile,
		YUnit: Nanoseconds, XLog: true, YLog: true, Marks: []Mark{{10, "mark"}}}
	s := Series{Name: rude}
	for x := 1.0; x < 1e5; x *= 1.5 {
		c.X, s.Y = append(c.X, x), append(s.Y, 1e5*math.Sqrt(x))
	}
	s.Y[3] = math.NaN()
	for range 9 { // one colour comes twice
		c.Series = append(c.Series, s)
	}
	linear := Chart{Title: "Rate", XUnit: Seconds, YUnit: PerSecond, X: []float64{0, 1},
		Series: []Series{{Name: "a", Y: []float64{1, 2}}}}
	empty := Chart{Title: "Nothing", XUnit: Seconds, YUnit: Count}
	wide := Table{Caption: "Wide", Head: Words(""), Rows: [][]Cell{{{Text: rude}}}}
	for i := range 12 {
		wide.Head = append(wide.Head, Words(fmt.Sprint("column ", i))...)
		wide.Rows[0] = append(wide.Rows[0], Cell{Text: "1,234.5 ms", Hint: "hint", Tone: "good"})
	}
	return Page{Title: rude, Subtitle: "today", Sections: []Section{{
		Heading: "Results " + strings.Repeat("x", 100), Text: []string{rude},
		Warnings: []string{rude},
		Tiles: []Tile{{"Requests a second", "123,456", "higher is better"},
			{"p99", "1.2 ms", rude}},
		Charts: []Chart{c, linear, empty}, Tables: []Table{wide},
	}}}
}

func write(t *testing.T, p Page) string {
	t.Helper()
	var b strings.Builder
	testenv.OK(t, Write(&b, p))
	return b.String()
}

// TestSelfContained: the page names no other file, and what results are called
// stays text.
func TestSelfContained(t *testing.T) {
	page := write(t, sample())
	if found := regexp.MustCompile(`(src|href)="?(https?:|//|[\w/.]+\.(js|css))`).FindString(
		page); found != "" {
		t.Errorf("the page loads %q", found)
	}
	if strings.Contains(page, "<b>\"tcp") {
		t.Error("a name became markup")
	}
	for part, want := range map[string]int{"<script": 2 + 2, "</script": 2 + 2, "<figure": 2,
		"<table": 1, "<h2": 1,
		"@media (prefers-color-scheme: dark)": 1, "@media print": 1, "MIT License": 1,
		"Content-Security-Policy": 1} {
		if got := strings.Count(strings.Replace(page, "The MIT License", "MIT License", 1),
			part); got != want {
			t.Errorf("%d times %q, want %d", got, part, want)
		}
	}
}

func TestSeriesJSON(t *testing.T) {
	text, err := Series{Name: "a\"b\x01", Points: true, Y: []float64{1, math.NaN(), math.Inf(1),
		1234567.8}}.MarshalJSON()
	testenv.OK(t, err)
	if want := `{"name":"a\"b\u0001","points":true,"y":[1,null,null,1.23457e+06]}`; string(
		text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// probe reports what is wider than the window, and how many charts have been
// drawn, to the page that frames this one.
const probe = `<script>addEventListener("load", () => setTimeout(() => {
	const wide = [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll table, .u-over") &&
		e.getClientRects().length && e.getBoundingClientRect().right > innerWidth + 1);
	parent.postMessage(JSON.stringify({width: innerWidth, drawn: document.querySelectorAll("figure canvas").length,
		scrolls: document.documentElement.scrollWidth > innerWidth, wide: wide.map(e => e.tagName + "." + e.className)}), "*");
}, 50))</script>`

// frame shows page.html at a width; a window cannot be as narrow as a phone.
const frame = `<!DOCTYPE html><meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<script>addEventListener("message", e => document.body.dataset.found = e.data)</script>
<iframe src="page.html" style="border: 0; width: %dpx; height: 3000px"></iframe>`

// TestBrowser: a browser draws all charts, finds nothing to complain about, and
// nothing is wider than the window, be it a phone's.
func TestBrowser(t *testing.T) {
	testenv.NeedBrowser(t)
	checkInBrowser(t, "sample", sample(), 1280, 390)
	if !testenv.Full() {
		return
	}
	for name, c := range pages() {
		checkInBrowser(t, name, c.page, 390)
	}
}

func checkInBrowser(t *testing.T, name string, p Page, widths ...int) {
	t.Helper()
	dir := t.TempDir()
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "page.html"), []byte(write(t, p)+probe), 0o600))
	charts := 0
	for _, s := range p.Sections {
		for _, c := range s.Charts {
			if c.X != nil {
				charts++
			}
		}
	}
	file := filepath.Join(dir, "frame.html")
	for _, width := range widths {
		testenv.OK(t, os.WriteFile(file, fmt.Appendf(nil, frame, width), 0o600))
		for scheme, flag := range map[string]string{"dark": "0", "light": "1"} {
			dom, log := testenv.Browser(t, "file://"+file, "--dump-dom",
				"--virtual-time-budget=2000",
				"--window-size=1400,900", "--blink-settings=preferredColorScheme="+flag)
			if c := testenv.Complaint(log); c != "" {
				t.Errorf("%s, %d, %s: the browser says %q", name, width, scheme, c)
			}
			want := fmt.Sprintf(`{"width":%d,"drawn":%d,"scrolls":false,"wide":[]}`, width, charts)
			_, found, _ := strings.Cut(dom, `data-found="`)
			found, _, _ = strings.Cut(found, `">`)
			if found = strings.ReplaceAll(found, "&quot;", `"`); found != want {
				t.Errorf("%s, %d, %s: %s, want %s", name, width, scheme, found, want)
			}
		}
	}
}
