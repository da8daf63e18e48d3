package metrics

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// What is checked of the queries in docs: that they are PromQL as far as they use it, name metrics, labels and label values that exist, and
// ask of each only what its type has. Whether Prometheus agrees is tested with examples/echo.

// known is a metric as queries may use it.
type known struct {
	kind   kind
	bucket bool                // a classic histogram's _bucket
	labels map[string][]string // with all values, where these are few
}

// vocabulary is every name that a query may have.
type vocabulary map[string]known

func (v vocabulary) add(name string, k kind, labels map[string][]string) {
	v[name] = known{kind: k, labels: labels}
	if k == histogram {
		for _, suffix := range []string{"_sum", "_count"} {
			v[name+suffix] = known{kind: count, labels: labels}
		}
		v[name+"_bucket"] = known{kind: count, labels: labels, bucket: true}
	}
}

// vocabularyOf has the names of the collectors here and of client_golang's for the process.
func vocabularyOf(t testing.TB) vocabulary {
	words := vocabulary{}
	for _, d := range documented() {
		labels := map[string][]string{}
		for _, l := range d.labels {
			labels[l] = nil
		}
		if d.label != "" {
			labels[d.label] = d.values
		}
		words.add(d.name, d.kind, labels)
	}
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		k := gauge
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			k = count
		case dto.MetricType_HISTOGRAM, dto.MetricType_SUMMARY:
			k = histogram
		}
		labels := map[string][]string{}
		for _, l := range f.Metric[0].Label {
			labels[l.GetName()] = nil
		}
		words.add(f.GetName(), k, labels)
	}
	return words
}

// documentedFamily is what docs/METRICS.md has of a family.
type documentedFamily struct {
	name, label    string
	kind           kind
	labels, values []string
	outside        bool
}

// documented returns all families of both collectors.
func documented() (all []documentedFamily) {
	all = append(all, documentedFamily{name: "netco_info", kind: gauge, labels: infoLabels})
	all = append(all, documentedOf(ofScheduler)...)
	all = append(all, documentedOf(ofProcessor)...)
	return append(all, documentedOf(ofProcess)...)
}

func documentedOf[S any](families []family[S]) (all []documentedFamily) {
	for _, f := range families {
		all = append(all, documentedFamily{f.name, f.label, f.kind, f.labels, f.values, f.outside > 0})
	}
	return all
}

// checkQuery says what is wrong with a query.
func (v vocabulary) checkQuery(query string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = r.(error)
		}
	}()
	p := &promql{words: v, tokens: tokenize(query)}
	if x := p.expression(); x.ranged {
		p.fail("a range is no result")
	}
	if p.at < len(p.tokens) {
		p.fail("%q is left", strings.Join(p.tokens[p.at:], " "))
	}
	return nil
}

var token = regexp.MustCompile(`\s*([a-zA-Z_:$][a-zA-Z0-9_:]*|[0-9.]+[a-z]*|"[^"]*"|=~|!~|!=|==|>=|<=|[-+*/<>=(){}\[\],])`)

func tokenize(query string) (tokens []string) {
	for rest := strings.TrimSpace(query); rest != ""; {
		m := token.FindStringSubmatchIndex(rest)
		if m == nil || m[0] != 0 {
			return append(tokens, rest)
		}
		tokens = append(tokens, rest[m[2]:m[3]])
		rest = rest[m[1]:]
	}
	return tokens
}

// promql parses what the queries here use of PromQL.
type promql struct {
	words  vocabulary
	tokens []string
	at     int
}

// vector is what an expression is.
type vector struct {
	kind   kind // a rate is a gauge; one of a native histogram is still a histogram
	bucket bool // per le, to be given to histogram_quantile
	ranged bool
	labels []string // of the metrics in it; nil if none
}

func (p *promql) fail(format string, args ...any) {
	panic(fmt.Errorf(format+": %s", append(args, strings.Join(p.tokens[:min(p.at, len(p.tokens))], " "))...))
}

func (p *promql) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *promql) next() string {
	t := p.peek()
	p.at++
	return t
}

func (p *promql) want(t string) {
	if got := p.next(); got != t {
		p.fail("%q where %q is wanted", got, t)
	}
}

func (p *promql) accept(t string) bool {
	if p.peek() == t {
		p.at++
		return true
	}
	return false
}

var binary = []string{"+", "-", "*", "/", "<", ">", "==", "!=", ">=", "<=", "or", "and", "unless"}

// expression does not know which operators bind tighter: that changes nothing of what is checked.
func (p *promql) expression() vector {
	x := p.operand()
	for slices.Contains(binary, p.peek()) {
		p.next()
		y := p.operand()
		if x.labels == nil {
			x = y
		}
	}
	return x
}

var (
	aggregations = []string{"sum", "max", "min", "avg", "count"}
	rates        = []string{"rate", "irate", "increase"}
	ofGauges     = []string{"delta", "deriv", "max_over_time", "min_over_time", "avg_over_time"}
)

func (p *promql) operand() vector {
	p.accept("-")
	switch t := p.next(); {
	case t == "(":
		x := p.expression()
		p.want(")")
		return x
	case t != "" && t[0] >= '0' && t[0] <= '9':
		return vector{}
	case slices.Contains(aggregations, t):
		return p.aggregation(t)
	case slices.Contains(rates, t):
		x := p.argument()
		if !x.ranged || x.kind == gauge {
			p.fail("%s of what is no range of a counter or histogram", t)
		}
		x.ranged = false
		if x.kind == count {
			x.kind = gauge
		}
		return x
	case slices.Contains(ofGauges, t):
		x := p.argument()
		if !x.ranged || x.kind != gauge {
			p.fail("%s of what is no range of a gauge", t)
		}
		x.ranged = false
		return x
	case t == "histogram_quantile":
		p.want("(")
		p.operand()
		p.want(",")
		x := p.expression()
		p.want(")")
		if x.kind != histogram && (!x.bucket || !slices.Contains(x.labels, "le")) {
			p.fail("histogram_quantile of what is neither a native histogram nor buckets by le")
		}
		return vector{kind: gauge, labels: x.labels}
	case t == "histogram_sum", t == "histogram_count":
		x := p.argument()
		if x.kind != histogram {
			p.fail("%s of what is no native histogram", t)
		}
		return vector{kind: gauge, labels: x.labels}
	default:
		return p.selector(t)
	}
}

func (p *promql) argument() vector {
	p.want("(")
	x := p.expression()
	p.want(")")
	return x
}

func (p *promql) aggregation(fn string) vector {
	var by []string
	if p.accept("by") {
		p.want("(")
		for !p.accept(")") {
			by = append(by, p.next())
			p.accept(",")
		}
	}
	x := p.argument()
	for _, l := range by {
		if !slices.Contains(x.labels, l) {
			p.fail("there is no label %q", l)
		}
	}
	if x.kind == count && fn != "count" {
		p.fail("%s of a counter and not of its rate", fn)
	}
	if x.bucket && !slices.Contains(by, "le") {
		p.fail("%s of buckets and not by le", fn)
	}
	x.labels = append([]string{}, by...)
	return x
}

func (p *promql) selector(name string) vector {
	m, ok := p.words[name]
	if !ok {
		p.fail("there is no metric or function %q", name)
	}
	x := vector{kind: m.kind, bucket: m.bucket, labels: []string{"instance", "job"}}
	for l := range m.labels {
		x.labels = append(x.labels, l)
	}
	if m.bucket {
		x.labels = append(x.labels, "le")
	}
	if p.accept("{") {
		for !p.accept("}") {
			p.matcher(m, x.labels)
			p.accept(",")
		}
	}
	if p.accept("[") {
		x.ranged = true
		for !p.accept("]") {
			if p.next() == "" {
				p.fail("a range without end")
			}
		}
	}
	return x
}

func (p *promql) matcher(m known, labels []string) {
	l, op, value := p.next(), p.next(), strings.Trim(p.next(), `"`)
	if !slices.Contains(labels, l) {
		p.fail("there is no label %q", l)
	}
	if !slices.Contains([]string{"=", "=~", "!=", "!~"}, op) {
		p.fail("%q is no comparison", op)
	}
	for _, v := range strings.Split(value, "|") {
		if all := m.labels[l]; all != nil && !slices.Contains(all, v) {
			p.fail("label %q has no value %q", l, v)
		}
	}
}

// TestCheckQuery: the check finds what is wrong.
func TestCheckQuery(t *testing.T) {
	words := vocabularyOf(t)
	for _, good := range []string{
		"netco_coroutines", "sum(netco_coroutines) > 3", "-sum by (op) (rate(netco_syscalls_total{op=~\"read|write\"}[5m]))",
		"histogram_quantile(0.9, rate(netco_turn_duration_seconds[$__rate_interval]))",
		"histogram_quantile(0.9, sum by (le) (rate(netco_turn_duration_seconds_bucket[1m]))) or go_goroutines",
		"(max_over_time(netco_turn_age_seconds[1h]))", "netco_turns_total",
	} {
		if err := words.checkQuery(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, why := range map[string]string{
		"netco_nothing":                                     "no metric",
		"rate(netco_coroutines[5m])":                        "no range of a counter",
		"rate(netco_turns_total)":                           "no range of a counter",
		"netco_turns_total[5m]":                             "no result",
		"sum(netco_turns_total)":                            "not of its rate",
		"deriv(netco_turns_total[5m])":                      "no range of a gauge",
		"netco_turns_total{op=\"read\"}":                    "no label",
		"netco_syscalls_total{op=\"rate\"}":                 "no value",
		"netco_syscalls_total{op==\"read\"}":                "no comparison",
		"sum by (state) (rate(netco_turns_total[5m]))":      "no label",
		"histogram_quantile(0.9, netco_coroutines)":         "neither a native",
		"sum(rate(netco_turn_duration_seconds_bucket[1m]))": "not by le",
		"histogram_sum(netco_coroutines)":                   "no native histogram",
		"sum(netco_coroutines":                              "wanted",
		"netco_coroutines)":                                 "is left",
		"netco_coroutines[5m":                               "without end",
		"netco_coroutines{state=\"ready\"} # and more":      "is left",
	} {
		if err := words.checkQuery(bad); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want an error about %q", bad, err, why)
		}
	}
	if words.checkQuery("") == nil {
		t.Error("an empty query is one")
	}
}
