package introspect

import (
	"image"
	"image/color"
	"image/png"
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
	mux.Handle("/stuck/", stuck.handler(Options{}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// TestBrowser: a browser takes the pages as they were meant, and finds nothing
// to complain about; they have no scripts. They have their style: light, dark
// and narrow ones look different, none is blank, and a deadlock is red.
func TestBrowser(t *testing.T) {
	url := browserSite(t)
	const dark, light = "--blink-settings=preferredColorScheme=0",
		"--blink-settings=preferredColorScheme=1"
	for _, c := range []struct {
		page, size, scheme string
		rows               int // of tables, those of heads included
		red                bool
	}{
		{"/debug/netco/", "1280,900", light, 3 + 16 + 3 + 4, false}, // the last of them handed on
		{"/debug/netco/", "1280,900", dark, 3 + 16 + 3 + 4, false},
		{"/debug/netco/coroutines?rows=50", "500,900", light, 51, false},
		{"/debug/netco/coroutine?id=4&stack=1", "1280,900", light, 0, false},
		{"/debug/netco/sockets?rows=20", "1280,900", light, 21, false},
		{"/stuck/", "1280,900", light, 21 + 3 + 2 + 3 + 4, true},
	} {
		file := filepath.Join(t.TempDir(), "shot.png")
		dom, log := testenv.Browser(t, url+c.page, c.scheme, "--dump-dom", "--screenshot="+file,
			"--window-size="+c.size)
		testenv.Equal(t, testenv.Complaint(log), "", c.page, "the browser says")
		if rows := strings.Count(dom, "<tr>"); rows != c.rows {
			t.Errorf("%s: %d rows, want %d", c.page, rows, c.rows)
		}
		if !strings.Contains(dom, "<h1>") || strings.Contains(dom, "<script") {
			t.Errorf("%s: no head, or a script: %.300s", c.page, dom)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatalf("%v: %.2000s", err, log)
		}
		picture := testenv.Must(png.Decode(f))
		f.Close()
		bright, inked := tones(picture)
		if bright < 200 && c.scheme == light || bright > 80 && c.scheme == dark || inked < 0.01 {
			t.Errorf("%s, %s: brightness %.0f of 255, %.1f %% of it is ink", c.page, c.scheme,
				bright, 100*inked)
		}
		testenv.Equal(t, reddish(picture), c.red, c.page, "is of the colour of a deadlock")
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
