package introspect

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// browserSite serves a made-up Scheduler, and one in a deadlock, until the test
// ends.
func browserSite(t *testing.T) string {
	t.Helper()
	testenv.NeedBrowser(t)
	testenv.Long(t)
	once(t)
	stuck := newFake(40)
	stuck.coroutine = func(i int, c *seen) {
		madeUp(i, c)
		c.State, c.Reason = coroutine.Waiting, coroutine.ReasonLock
	}
	stuck.stuck = func() (all []coroutine.Info) {
		stuck.coroutines(func(c *seen) bool { all = append(all, c.Info); return true })
		return all
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/netco/",
		newFake(5000).handler(Options{AllowStop: true}))
	mux.HandleFunc("/control", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `<!DOCTYPE html><p id="p">no scripts</p>`+
			`<script>document.getElementById("p").textContent = "scr" + "ipts run"</script>`)
	})
	mux.Handle("/stuck/", stuck.handler(Options{}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// TestBrowser: a browser takes the pages as they were meant, and finds nothing
// to complain about.
func TestBrowser(t *testing.T) {
	url := browserSite(t)
	for page, want := range map[string]int{ // rows of tables, those of heads included
		"/debug/netco/":                       3 + 16 + 3 + 4, // the last of them handed on
		"/debug/netco/coroutines?rows=50":     51,
		"/debug/netco/coroutine?id=4&stack=1": 0,
		"/debug/netco/sockets?rows=20":        21,
		"/stuck/":                             21 + 3 + 2 + 3 + 4,
	} {
		dom, log := testenv.Browser(t, url+page, "--dump-dom")
		testenv.Equal(t, testenv.Complaint(log), "", page, "the browser says")
		if rows := strings.Count(dom, "<tr>"); rows != want {
			t.Errorf("%s: %d rows, want %d", page, rows, want)
		}
		if !strings.Contains(dom, "<h1>") || strings.Contains(dom, "<script") {
			t.Errorf("%s: no head, or a script: %.300s", page, dom)
		}
	}
}

// TestNoScripts: all tables are there in a browser that runs no scripts.
func TestNoScripts(t *testing.T) {
	url := browserSite(t)
	dom, _ := testenv.Browser(t, url+"/control", "--dump-dom")
	if !strings.Contains(dom, "scripts run") {
		t.Fatalf("a browser with scripts: %s", dom)
	}
	dom, _ = testenv.Browser(t, url+"/control", "--dump-dom", testenv.NoScripts)
	if !strings.Contains(dom, ">no scripts<") {
		t.Fatalf("a browser without scripts: %s", dom)
	}
	for page, want := range map[string]int{"": 26, "coroutines?rows=50": 51} {
		dom, _ := testenv.Browser(t, url+"/debug/netco/"+page, "--dump-dom", testenv.NoScripts)
		testenv.Equal(t, strings.Count(dom, "<tr>"), want, page, "rows")
	}
}

// TestScreenshots: the pages have their style: light, dark and narrow ones look
// different, none is blank, and a deadlock is red.
func TestScreenshots(t *testing.T) {
	url := browserSite(t)
	shot := func(page, size string, flags ...string) image.Image {
		file := filepath.Join(t.TempDir(), "shot.png")
		_, log := testenv.Browser(t, url+page, append(flags, "--screenshot="+file,
			"--window-size="+size)...)
		f, err := os.Open(file)
		if err != nil {
			t.Fatalf("%v: %.2000s", err, log)
		}
		defer f.Close()
		picture := testenv.Must(png.Decode(f))
		testenv.Equal(t, testenv.Complaint(log), "", page, "the browser says")
		return picture
	}
	const dark, light = "--blink-settings=preferredColorScheme=0",
		"--blink-settings=preferredColorScheme=1"
	calm := shot("/debug/netco/", "1280,900", light)
	if bright, inked := tones(calm); bright < 200 || inked < 0.01 {
		t.Errorf("light: brightness %.0f of 255, %.1f %% of it is ink", bright, 100*inked)
	}
	if bright, inked := tones(shot("/debug/netco/", "1280,900", dark)); bright > 80 ||
		inked < 0.01 {
		t.Errorf("dark: brightness %.0f of 255, %.1f %% of it is ink", bright, 100*inked)
	}
	if bright, inked := tones(shot("/debug/netco/coroutines", "500,900", light)); bright < 200 ||
		inked < 0.01 {
		t.Errorf("narrow: brightness %.0f of 255, %.1f %% of it is ink", bright, 100*inked)
	}
	if reddish(calm) || !reddish(shot("/stuck/", "1280,900", light)) {
		t.Error("a deadlock does not stand out")
	}
}

// tones returns a picture's mean brightness, and the share of it that differs
// much from that.
func tones(p image.Image) (mean, inked float64) {
	grey := func(x, y int) float64 {
		return float64(color.GrayModel.Convert(p.At(x, y)).(color.Gray).Y)
	}
	b := p.Bounds()
	n := 0.0
	for y := b.Min.Y; y < b.Max.Y; y += 2 {
		for x := b.Min.X; x < b.Max.X; x++ {
			mean += grey(x, y)
			n++
		}
	}
	mean /= n
	for y := b.Min.Y; y < b.Max.Y; y += 2 {
		for x := b.Min.X; x < b.Max.X; x++ {
			if d := grey(x, y) - mean; d > 60 || d < -60 {
				inked++
			}
		}
	}
	return mean, inked / n
}

// reddish reports whether a good part of a picture is of a warm ground.
func reddish(p image.Image) bool {
	b := p.Bounds()
	n := 0
	for y := b.Min.Y; y < b.Max.Y; y += 4 {
		for x := b.Min.X; x < b.Max.X; x += 4 {
			if r, g, _, _ := p.At(x, y).RGBA(); r > g+0x0800 {
				n++
			}
		}
	}
	return n > b.Dx()*b.Dy()/16/20
}
