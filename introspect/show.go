package introspect

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Texts that may be long are cut: to maxText bytes in JSON, and to maxShown on
// a page.
const (
	maxText  = 1 << 10
	maxShown = 120
	maxStack = 64 << 10
)

// cut shortens s to at most n bytes, at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// visible returns s so that all of it can be seen and none of it changes how
// the rest is shown: characters without a shape, such as those that turn the
// direction of writing, are replaced by their numbers.
func visible(s string) string {
	clean := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case clean(r):
			b.WriteRune(r)
		case r == utf8.RuneError:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// short returns the part of a text that a page shows.
func short(s string) string { return visible(cut(s, maxShown)) }

// span writes a duration with three digits.
func span(ns int64) string {
	d := time.Duration(ns)
	switch {
	case ns < 0:
		return "–"
	case ns == 0:
		return "0"
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", ns)
	case d < time.Millisecond:
		return digits(float64(ns)/1e3) + " µs"
	case d < time.Second:
		return digits(float64(ns)/1e6) + " ms"
	case d < time.Minute:
		return digits(d.Seconds()) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %02d m", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %02d h", int(d.Hours())/24, int(d.Hours())%24)
}

func digits(x float64) string {
	switch {
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	case x < 99.95:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// count writes a number with thin spaces between thousands.
func count[N int | int64 | uint64](n N) string {
	s := fmt.Sprint(n)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return sign + s
}

// amount writes an amount of memory or traffic.
func amount(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	x := float64(n)
	for len(units) > 1 && x >= 1023.5 {
		x, units = x/1024, units[1:]
	}
	if units[0] == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return digits(x) + " " + units[0]
}

// percent writes a share of 0 to 1.
func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

// lines is visible for a text of several lines, as a stack is.
func lines(s string) string {
	all := strings.Split(s, "\n")
	for i, l := range all {
		tabs := len(l) - len(strings.TrimLeft(l, "\t"))
		all[i] = strings.Repeat("    ", tabs) + visible(l[tabs:])
	}
	return strings.Join(all, "\n")
}

func sorted(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	return words
}
