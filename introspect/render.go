package introspect

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"time"
)

//go:embed pages
var files embed.FS

// style is the one style sheet, in the head of every page: nothing needs to be
// fetched, and nothing else is allowed.
var style = func() string {
	text, err := files.ReadFile("pages/style.css")
	if err != nil {
		panic("netco/introspect: " + err.Error())
	}
	return "\n" + string(text)
}()

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
		"requests", "timers", "stalls", "failure", "ended"} {
		all[name] = template.Must(template.Must(frame.Clone()).ParseFS(files, "pages/"+name+
			".html"))
	}
	return all
}()

var functions = template.FuncMap{
	"span": span, "short": short, "amount": amount, "percent": percent, "chart": chart, "bar": bar,
	"count": func(n any) string {
		switch n := n.(type) {
		case int:
			return count(n)
		case int64:
			return count(n)
		case uint64:
			return count(n)
		}
		return ""
	},
	"visible": func(s string) string { return visible(cut(s, maxText)) },
	"lines":   lines,
	"share": func(part, whole any) float64 {
		if x := number(whole); x > 0 {
			return number(part) / x
		}
		return 0
	},
	"clock": func(t time.Time) string { return t.Format("2006-01-02 15:04:05 MST") },
	"waits": waitsFor,
	"made":  func(c coroutineJSON) string { return made(c.Func, c.File, c.Line) },
	"rows":  func(list []coroutineJSON) map[string]any { return map[string]any{"Rows": list} },
	"first": func(n int, list []coroutineJSON) []coroutineJSON {
		return list[:min(n, len(list))]
	},
	"pairs": pairs,
	"charted": func(list []processorJSON) []processorJSON {
		return list[:min(len(list), maxCharts)]
	},
	"uncharted": func(list []processorJSON) int { return max(len(list)-maxCharts, 0) },
}

// maxCharts is the number of Processors for which a chart is drawn.
const maxCharts = 64

// pair is a key of a map with its value, for a table.
type pair struct {
	Name string
	N    uint64
}

// pairs returns the pairs of a map, the largest value first.
func pairs(m map[string]uint64) (list []pair) {
	for name, n := range m {
		list = append(list, pair{name, n})
	}
	slices.SortFunc(list, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func number(n any) float64 {
	switch n := n.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	case uint64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// titles are the pages' names, in the order of the navigation.
var titles = []struct{ Page, Title string }{
	{"overview", "Overview"}, {"coroutines", "Coroutines"}, {"sockets", "Sockets"},
	{"requests", "Requests"}, {"timers", "Timers"}, {"stalls", "Stalls"},
}

// render writes a page, or returns an error before it has written anything.
func (h *handler) render(w http.ResponseWriter, code int, q *query, data any) error {
	name := q.page
	switch data.(type) {
	case *groupsJSON:
		name = "groups"
	case failureJSON:
		name = "failure"
	case *endedCoroutine:
		name = "ended"
	}
	v := &view{query: q, Title: "Error " + strconv.Itoa(code), Data: data, Opt: &h.opt,
		Now: time.Now()}
	if e, ok := data.(*endedCoroutine); ok {
		v.Title = "Coroutine " + strconv.FormatUint(e.ID, 10)
	}
	if code == http.StatusOK {
		v.Title = "Coroutine"
		for _, t := range titles {
			if t.Page == q.page {
				v.Title = t.Title
			}
		}
		v.refresh() // so that a wrong value is reported
		if q.err != nil {
			return q.err
		}
	}
	var b bytes.Buffer // of at most maxRows rows
	if err := templates[name].Execute(&b, v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(code)
	w.Write(b.Bytes())
	return nil
}
