package introspect

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

//go:embed pages
var files embed.FS

// style is the only style sheet, in the head of every page: a page fetches no
// styles, and its security policy allows no others.
//
//go:embed pages/style.css
var style string

var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// templates are the pages by name, each with the frame around it.
var templates = func() map[string]*template.Template {
	frame := template.Must(template.New("frame.html").Funcs(functions).ParseFS(files,
		"pages/frame.html"))
	all := map[string]*template.Template{}
	for _, name := range []string{"overview", "coroutines", "groups", "coroutine", "sockets",
		"requests", "stalls", "failure"} {
		all[name] = template.Must(template.Must(frame.Clone()).ParseFS(files, "pages/"+name+
			".html"))
	}
	return all
}()

var functions = template.FuncMap{
	"span": span, "short": short, "amount": amount, "count": count, "made": shortPlace,
	"style":   func() template.CSS { return template.CSS(style) },
	"lines":   func(s string) string { return visible(s, "\n\t") },
	"visible": func(s string) string { return visible(cut(s, maxText), "") },
	"percent": func(part, whole any) float64 {
		if x := number(whole); x > 0 {
			return 100 * min(number(part)/x, 1)
		}
		return 0
	},
}

func number(n any) float64 {
	return reflect.ValueOf(n).Convert(reflect.TypeFor[float64]()).Float()
}

// render returns a page.
func (h *handler) render(q *query, code int, data any) ([]byte, error) {
	q.Code, q.Data, q.Opt, q.Now = code, data, &h.opt, time.Now()
	if q.Refresh(); q.err != nil && code == http.StatusOK {
		return nil, q.err
	}
	var b bytes.Buffer // of at most maxRows rows
	err := templates[q.template].Execute(&b, q)
	return b.Bytes(), err
}

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

// visible replaces the invisible characters of s by their numbers, except the
// characters in keep: a character that changes the direction of writing, for
// example, would change how the rest of the page looks.
func visible(s, keep string) string {
	clean := func(r rune) bool {
		return unicode.IsPrint(r) && r != utf8.RuneError || strings.ContainsRune(keep, r)
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
func short(s string) string { return visible(cut(s, maxShown), "") }

// span writes a duration with three digits.
func span(ns int64) string {
	d, x := time.Duration(ns), float64(ns)
	switch {
	case ns < 0:
		return "–"
	case ns == 0:
		return "0"
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", ns)
	case d < time.Millisecond:
		return digits(x/1e3) + " µs"
	case d < time.Second:
		return digits(x/1e6) + " ms"
	case d < time.Minute:
		return digits(x/1e9) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %02d m", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %02d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
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
func count(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
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
