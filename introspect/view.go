package introspect

import (
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// view is the data of a template.
type view struct {
	*query
	Title string
	Data  any
	Opt   *Options
	Now   time.Time
}

func (v *view) Style() template.CSS { return template.CSS(style) }

func (v *view) Page() string { return v.page }

func (v *view) Pages() any { return titles }

func (v *view) Get(name string) string { return v.text(name) }

func (v *view) Refresh() uint64 {
	if v.err != nil {
		return 0
	}
	return v.refresh()
}

// Link is a link to the present page with some parameters changed.
func (v *view) Link(changes ...string) template.URL {
	return template.URL(v.link(v.page, changes...))
}

// To is a link to another page with nothing but the given parameters.
func (v *view) To(page string, changes ...any) template.URL {
	values := url.Values{}
	for i := 0; i+1 < len(changes); i += 2 {
		name, _ := changes[i].(string)
		switch x := changes[i+1].(type) {
		case string:
			values.Set(name, x)
		case uint64:
			values.Set(name, strconv.FormatUint(x, 10))
		case int:
			values.Set(name, strconv.Itoa(x))
		}
	}
	return template.URL(plain(page, values))
}

// JSON is a link to the same page as JSON, including the place in the list.
func (v *view) JSON() template.URL {
	return template.URL(v.link(v.page, "after", v.text("after"), "before", v.text("before"),
		"refresh", "", "format", "json"))
}

// column is the head of a column by which a table can be sorted.
type column struct {
	Label, Sort string // aria-sort
	Mark        string
	Class       string
	Link        template.URL
}

// Column returns the head of a column. The first click sorts by the more useful
// order: the oldest, or the first of the alphabet.
func (v *view) Column(name, label, class string) column {
	c := column{Label: label, Class: class}
	now := v.text("sort")
	next := name
	if name == "age" {
		next = "-age"
	}
	switch now {
	case name:
		c.Sort, c.Mark, next = "ascending", "▲", "-"+name
	case "-" + name:
		c.Sort, c.Mark, next = "descending", "▼", name
	}
	c.Link = v.Link("sort", next)
	return c
}

// option is an option of a select element.
type option struct {
	Value, Label string
	Selected     bool
}

// Options returns the choices for a parameter. The first stands for none.
func (v *view) Options(name string, words []string) (list []option) {
	for _, w := range words {
		o := option{Value: w, Label: w, Selected: v.text(name) == w}
		if w == "" {
			o.Label = "any"
		}
		list = append(list, o)
	}
	return list
}

func (v *view) States() []option  { return v.Options("state", stateNames) }
func (v *view) Reasons() []option { return v.Options("reason", sorted(reasonNames)) }
func (v *view) Groups() []option {
	list := v.Options("group", groupKeys)
	list[0].Label = "nothing"
	return list
}
func (v *view) Kinds() []option  { return v.Options("kind", socketKinds) }
func (v *view) Waits() []option  { return v.Options("waits", socketWaits) }
func (v *view) Levels() []string { return levels }

// ByLabel is the head of the column with the key of the groups.
func (v *view) ByLabel() string {
	switch by := v.Data.(*groupsJSON).By; by {
	case "site":
		return "Made at"
	case "reason":
		return "Waits for"
	default:
		return strings.ToUpper(by[:1]) + by[1:]
	}
}

// Last is the number of a page's last row.
func (v *view) Last() uint64 {
	switch d := v.Data.(type) {
	case *coroutinesJSON:
		return d.First + uint64(len(d.Coroutines)) - 1
	case *socketsJSON:
		return d.First + uint64(len(d.Sockets)) - 1
	}
	return 0
}
