package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/cmd/netco-bench/internal/gen"
)

const (
	liveEvery = 250 * time.Millisecond
	sparkWide = 40 // seconds
)

// liveView shows a run while it runs: on a terminal some lines that are
// redrawn, elsewhere a line each second.
type liveView struct {
	w     io.Writer
	tty   bool
	quiet bool
	open  bool
	drawn int // lines on the terminal
	shown int // the last second printed as a line
	rate  gauge
}

// gauge is the rate since it was asked last.
type gauge struct {
	requests uint64
	at       time.Time
}

func (g *gauge) update(requests uint64, now time.Time) float64 {
	since := now.Sub(g.at).Seconds()
	if g.at.IsZero() || requests < g.requests || since <= 0 {
		since = math.Inf(1)
	}
	rate := float64(requests-g.requests) / since
	g.requests, g.at = requests, now
	return rate
}

func newLiveView(w io.Writer, cfg *loadConfig) *liveView {
	v := &liveView{w: w, quiet: cfg.quiet, open: cfg.Rate > 0, shown: -1}
	if f, ok := w.(*os.File); ok {
		_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		v.tty = err == nil
	}
	return v
}

func (v *liveView) show(l gen.Live) {
	switch {
	case v.quiet:
	case v.tty:
		v.redraw(l)
	default:
		for _, s := range l.Seconds {
			if s.At > v.shown {
				v.shown = s.At
				if s.Requests == 0 {
					fmt.Fprintf(v.w, "%4ds %10s/s  errors %d\n", s.At+1, "0", s.Errors)
					continue
				}
				fmt.Fprintf(v.w, "%4ds %10s/s  p50 %-8s p99 %-8s max %-8s errors %d\n",
					s.At+1, countText(s.Requests), latencyText(s.P50), latencyText(s.P99),
					latencyText(s.Max), s.Errors)
			}
		}
	}
}

func (v *liveView) redraw(l gen.Live) {
	v.erase()
	lines := v.lines(l, v.rate.update(l.Requests, time.Now()))
	fmt.Fprint(v.w, strings.Join(lines, "\n")+"\n")
	v.drawn = len(lines)
}

// lines are what the terminal shows.
func (v *liveView) lines(l gen.Live, rate float64) []string {
	left := ""
	if l.Left >= 0 {
		left = ", " + l.Left.Round(time.Second).String() + " left"
	}
	lines := []string{fmt.Sprintf("%s %v%s", l.Phase, l.Elapsed.Round(time.Second), left)}
	if l.Phase == "connecting" {
		return lines
	}
	p := l.Whole
	return append(lines,
		fmt.Sprintf("  %s/s  %s requests  %d errors", countText(uint64(rate)),
			countText(l.Requests), l.Errors.Sum()),
		fmt.Sprintf("  p50 %s  p99 %s  p99.9 %s  max %s", latencyText(p.P50), latencyText(p.P99),
			latencyText(p.P999), latencyText(p.Max)),
		"  p99 by second "+sparkline(l.Seconds))
}

// sparkline draws the p99 of the last seconds on a logarithmic scale.
func sparkline(seconds []gen.LiveSecond) string {
	seconds = seconds[max(0, len(seconds)-sparkWide):]
	low, high := math.Inf(1), 0.0
	for _, s := range seconds {
		if s.P99 > 0 {
			low, high = min(low, float64(s.P99)), max(high, float64(s.P99))
		}
	}
	if high == 0 {
		return ""
	}
	// A span of less than 2 would make noise look like peaks.
	span := math.Log(max(high/low, 2))
	bars := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, s := range seconds {
		if s.P99 == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(bars[int(math.Log(float64(s.P99)/low)/span*float64(len(bars)-1))])
	}
	return fmt.Sprintf("%s %s to %s", b.String(), latencyText(int64(low)), latencyText(int64(high)))
}

// erase removes what is drawn.
func (v *liveView) erase() {
	if v.drawn > 0 {
		fmt.Fprintf(v.w, "\x1b[%dA\x1b[J", v.drawn)
		v.drawn = 0
	}
}

// end makes room for the result.
func (v *liveView) end() { v.erase() }
