package promql

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// vector is what is known of an expression's value beyond its type in PromQL.
type vector struct {
	kind   dto.MetricType // a rate is a gauge; that of a native histogram is still a histogram
	bucket bool           // of a classic histogram's buckets, without an aggregation that keeps no le
	labels []string       // of the metrics in it; nil for a number
}

// Grafana's variables as a dashboard's user could have set them.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$processor", ".*")

func parse(query string) (parser.Expr, error) {
	return parser.NewParser(parser.Options{}).ParseExpr(query)
}

// check says what is wrong with a query.
func (v vocabulary) check(query string) error {
	expr, err := parse(variables.Replace(query))
	if err != nil {
		return err
	}
	if expr.Type() == parser.ValueTypeMatrix {
		return fmt.Errorf("a range is no result: %s", query)
	}
	_, err = v.vectorOf(expr)
	return err
}

func (v vocabulary) vectorOf(expr parser.Expr) (vector, error) {
	switch x := expr.(type) {
	case *parser.NumberLiteral, *parser.StringLiteral:
		return vector{}, nil
	case *parser.ParenExpr:
		return v.vectorOf(x.Expr)
	case *parser.UnaryExpr:
		return v.vectorOf(x.Expr)
	case *parser.MatrixSelector:
		return v.vectorOf(x.VectorSelector)
	case *parser.VectorSelector:
		return v.selector(x)
	case *parser.BinaryExpr:
		return v.binary(x)
	case *parser.AggregateExpr:
		return v.aggregation(x)
	case *parser.Call:
		return v.call(x)
	}
	return vector{}, fmt.Errorf("%s: this check does not know %T", expr, expr)
}

func (v vocabulary) binary(x *parser.BinaryExpr) (vector, error) {
	left, err := v.vectorOf(x.LHS)
	if err != nil {
		return left, err
	}
	right, err := v.vectorOf(x.RHS)
	if left.labels == nil {
		return right, err
	}
	return left, err
}

// What the functions want of a metric, by its type.
var (
	rates    = []string{"rate", "irate", "increase"}
	ofGauges = []string{"delta", "deriv", "changes", "max_over_time", "min_over_time",
		"avg_over_time"}
	ofNative = []string{"histogram_sum", "histogram_count"}
)

func (v vocabulary) call(x *parser.Call) (vector, error) {
	if len(x.Args) == 0 {
		return vector{}, fmt.Errorf("%s: this check does not know %s", x, x.Func.Name)
	}
	of, err := v.vectorOf(x.Args[len(x.Args)-1])
	if err != nil {
		return of, err
	}
	gauge := vector{kind: dto.MetricType_GAUGE, bucket: of.bucket, labels: of.labels}
	native := of.kind == dto.MetricType_HISTOGRAM
	switch name := x.Func.Name; {
	case slices.Contains(rates, name):
		if of.kind == dto.MetricType_GAUGE {
			return of, fmt.Errorf("%s: %s of a gauge", x, name)
		}
		if native {
			return of, nil
		}
		return gauge, nil
	case slices.Contains(ofGauges, name):
		if of.kind != dto.MetricType_GAUGE {
			return of, fmt.Errorf("%s: %s of what is no gauge", x, name)
		}
		return gauge, nil
	case slices.Contains(ofNative, name):
		if !native {
			return of, fmt.Errorf("%s: %s of what is no native histogram", x, name)
		}
		return gauge, nil
	case name == "histogram_quantile":
		if !native && !(of.bucket && slices.Contains(of.labels, "le")) {
			return of, fmt.Errorf("%s: neither a native histogram nor buckets by le", x)
		}
		gauge.bucket = false
		return gauge, nil
	default:
		return of, fmt.Errorf("%s: this check does not know %s", x, name)
	}
}

func (v vocabulary) aggregation(x *parser.AggregateExpr) (vector, error) {
	of, err := v.vectorOf(x.Expr)
	if err != nil {
		return of, err
	}
	if x.Without {
		return of, fmt.Errorf("%s: this check does not know without", x)
	}
	for _, l := range x.Grouping {
		if !slices.Contains(of.labels, l) {
			return of, fmt.Errorf("%s: there is no label %q", x, l)
		}
	}
	if of.kind == dto.MetricType_COUNTER && x.Op != parser.COUNT {
		return of, fmt.Errorf("%s: %s of a counter and not of its rate", x, x.Op)
	}
	if of.bucket && !slices.Contains(x.Grouping, "le") {
		return of, fmt.Errorf("%s: %s of buckets and not by le", x, x.Op)
	}
	of.labels = append([]string{}, x.Grouping...)
	return of, nil
}

func (v vocabulary) selector(x *parser.VectorSelector) (vector, error) {
	m, ok := v[x.Name]
	if !ok {
		return vector{}, fmt.Errorf("%s: there is no metric %q", x, x.Name)
	}
	all := append(slices.Collect(maps.Keys(m.labels)), "instance", "job")
	for _, l := range x.LabelMatchers {
		if l.Name == labels.MetricName {
			continue
		}
		if !slices.Contains(all, l.Name) {
			return vector{}, fmt.Errorf("%s: there is no label %q", x, l.Name)
		}
		for _, value := range strings.Split(l.Value, "|") {
			if known := m.labels[l.Name]; known != nil && !slices.Contains(known, value) {
				return vector{}, fmt.Errorf("%s: label %q has no value %q", x, l.Name, value)
			}
		}
	}
	return vector{m.kind, m.bucket, all}, nil
}
