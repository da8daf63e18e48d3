package introspect

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// A chart is drawn in these units, which are pixels where there is room.
const (
	chartWidth, chartHeight = 520.0, 190.0
	plotLeft, plotRight     = 46.0, 512.0
	plotTop, plotBottom     = 10.0, 128.0 // turn lengths
	loadTop, loadBottom     = 144.0, 168.0
	chartSpan               = int64(240e9) // ns, to the left edge
	sliceSpan               = int64(5e9)
	lowest, highest         = 3, 10 // turns from 10^3 to 10^10 ns
)

// chart draws the last minutes of a Processor: how long its turns were, on a
// logarithmic scale, and below that the share of the time in which it was busy.
// A slice in which nothing ran is a gap.
func chart(p processorJSON) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %g %g" role="img" aria-labelledby="t%d d%d">`,
		chartWidth, chartHeight, p.Index, p.Index)
	fmt.Fprintf(&b, `<title id="t%d">Processor %d: lengths of turns and load `+
		`over the last four minutes</title>`, p.Index, p.Index)
	fmt.Fprintf(&b, `<desc id="d%d">Over all: half of the turns took at most %s, `+
		`99 of 100 at most %s, the longest %s. Busy for %s of the last half minute.</desc>`,
		p.Index, span(p.TurnP50), span(p.TurnP99), span(p.TurnMax), percent(p.Load))
	top := topDecade(p.TurnMax)
	grid(&b, top)
	load(&b, p.History)
	line(&b, "max", p.History, func(s sliceJSON) float64 { return lengthY(s.MaxNs, top) })
	line(&b, "p99", p.History, func(s sliceJSON) float64 { return lengthY(s.P99Ns, top) })
	line(&b, "p50", p.History, func(s sliceJSON) float64 { return lengthY(s.P50Ns, top) })
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // numbers and words of this file, nothing else
}

// topDecade returns the power of ten, in ns, at which the scale ends: at least
// 10 ms, so that charts of calm Processors compare.
func topDecade(longest int64) int {
	top := 7
	for top < highest && float64(longest) > math.Pow10(top) {
		top++
	}
	return top
}

// timeX returns the place of a moment that was so long ago.
func timeX(ago int64) float64 {
	return plotRight - (plotRight-plotLeft)*float64(min(max(ago, 0), chartSpan))/float64(chartSpan)
}

func lengthY(ns int64, top int) float64 {
	x := (math.Log10(float64(max(ns, 1))) - lowest) / float64(top-lowest)
	return plotBottom - (plotBottom-plotTop)*min(max(x, 0), 1)
}

func grid(b *strings.Builder, top int) {
	for decade := lowest; decade <= top; decade++ {
		y := lengthY(int64(math.Pow10(decade)), top)
		fmt.Fprintf(b, `<path class="grid" d="M%g %.1fH%g"/>`, plotLeft, y, plotRight)
		unit := [...]string{" µs", " ms", " s"}[decade/3-1]
		fmt.Fprintf(b, `<text x="%g" y="%.1f" class="end">%s%s</text>`, plotLeft-6, y+3.5,
			"100"[:1+decade%3], unit)
	}
	fmt.Fprintf(b, `<path class="grid" d="M%g %gH%gM%g %gH%g"/>`, plotLeft, loadTop, plotRight,
		plotLeft, loadBottom, plotRight)
	fmt.Fprintf(b, `<text x="%g" y="%g" class="end">load</text>`, plotLeft-6,
		(loadTop+loadBottom)/2+3.5)
	for minute := int64(0); minute <= 4; minute++ {
		text, class := fmt.Sprintf("−%d min", minute), "middle"
		switch minute {
		case 0:
			text, class = "now", "end"
		case 4:
			class = "start"
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%g" class="%s">%s</text>`, timeX(minute*60e9),
			chartHeight-8, class, text)
	}
}

// ends returns the beginning and the end of a slice in units of the chart;
// false if it is too old.
func (s sliceJSON) ends() (from, to float64, ok bool) {
	return timeX(s.AgoNs), timeX(s.AgoNs - sliceSpan), s.AgoNs-sliceSpan < chartSpan
}

// line draws steps, one for each slice, joined where slices follow one another.
func line(b *strings.Builder, class string, history []sliceJSON, y func(sliceJSON) float64) {
	if len(history) == 0 {
		return
	}
	fmt.Fprintf(b, `<path class="line %s" d="`, class)
	last := math.Inf(-1)
	for _, s := range history {
		from, to, ok := s.ends()
		if !ok || s.Turns == 0 {
			continue
		}
		if from-last > 0.5 {
			fmt.Fprintf(b, `M%.1f %.1fH%.1f`, from, y(s), to)
		} else {
			fmt.Fprintf(b, `V%.1fH%.1f`, y(s), to)
		}
		last = to
	}
	b.WriteString(`"/>`)
}

// load draws a bar for each slice. A turn counts in the slice in which it
// ended, so a share may be above one: it is drawn as one.
func load(b *strings.Builder, history []sliceJSON) {
	for _, s := range history {
		from, to, ok := s.ends()
		share := min(float64(s.BusyNs)/float64(sliceSpan), 1)
		if height := share * (loadBottom - loadTop); ok && height >= 0.1 {
			fmt.Fprintf(b, `<rect class="load" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`,
				from, loadBottom-height, to-from+0.05, height)
		}
	}
}

// bar draws a share of 0 to 1, to stand beside its figure.
func bar(share float64) template.HTML {
	share = min(max(share, 0), 1)
	if math.IsNaN(share) {
		share = 0
	}
	return template.HTML(fmt.Sprintf(`<svg class="bar" viewBox="0 0 60 8" aria-hidden="true">`+
		`<rect class="rail" width="60" height="8" rx="2"/>`+
		`<rect class="fill" width="%.1f" height="8" rx="2"/></svg>`, 60*share))
}
