package promql

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCheck: the check finds what is wrong.
func TestCheck(t *testing.T) {
	words := vocabularyOf(t)
	for _, good := range []string{
		"netco_coroutines", "sum(netco_coroutines) > 3",
		"-sum by (op) (rate(netco_syscalls_total{op=~\"read|write\"}[5m]))",
		"histogram_quantile(0.9, rate(netco_turn_duration_seconds[$__rate_interval]))",
		"histogram_quantile(0.9, sum by (le) (rate(netco_turn_duration_seconds_bucket[1m]))) or " +
			"go_goroutines",
		"(max_over_time(netco_turn_age_seconds[1h]))", "netco_turns_total",
		"count(netco_turns_total)",
	} {
		if err := words.check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, why := range map[string]string{
		"netco_nothing":                                     "no metric",
		"netco_nothing + 1":                                 "no metric",
		"1 + netco_nothing":                                 "no metric",
		"fast(netco_turns_total[5m])":                       "unknown function",
		"rate(netco_coroutines[5m])":                        "of a gauge",
		"rate(netco_turns_total)":                           "expected type range vector",
		"netco_turns_total[5m]":                             "no result",
		"sum(netco_turns_total)":                            "not of its rate",
		"deriv(netco_turns_total[5m])":                      "no gauge",
		"netco_turns_total{op=\"read\"}":                    "no label",
		"netco_syscalls_total{op=\"rate\"}":                 "no value",
		"netco_syscalls_total{op=~\"read|rate\"}":           "no value",
		"netco_syscalls_total{op==\"read\"}":                "parse error",
		"sum by (state) (rate(netco_turns_total[5m]))":      "no label",
		"histogram_quantile(0.9, netco_coroutines)":         "neither a native",
		"sum(rate(netco_turn_duration_seconds_bucket[1m]))": "not by le",
		"histogram_sum(netco_coroutines)":                   "no native histogram",
		"sum(netco_coroutines":                              "parse error",
		"netco_coroutines)":                                 "parse error",
		"netco_coroutines[5m":                               "parse error",
		"":                                                  "parse error",
	} {
		if err := words.check(bad); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want an error about %q", bad, err, why)
		}
	}
}

var (
	block = regexp.MustCompile("(?s)```promql\n(.*?)```")
	alert = regexp.MustCompile("(?m)^\\| `([^`]*)` \\|[^|]*\\|[^|]*\\|$")
)

// TestPage: the queries and alerts of docs/METRICS.md.
func TestPage(t *testing.T) {
	words, page := vocabularyOf(t), read(t, "../../docs/METRICS.md")
	var queries []string
	for _, m := range block.FindAllStringSubmatch(page, -1) {
		queries = append(queries, m[1])
	}
	const bar = "\x00" // one that is no cell's end
	for _, m := range alert.FindAllStringSubmatch(strings.ReplaceAll(page, `\|`, bar), -1) {
		queries = append(queries, strings.ReplaceAll(m[1], bar, "|"))
	}
	checkAll(t, words, queries, 10)
}

var alertExpr = regexp.MustCompile(`(?m)^\s+expr: (.*)$`)

// TestAlerts: the alerts of docs/alerts.yml, but for those on examples/daemon's
// own metrics, of which only the syntax is checked.
func TestAlerts(t *testing.T) {
	words := vocabularyOf(t)
	var queries []string
	for _, m := range alertExpr.FindAllStringSubmatch(read(t, "../../docs/alerts.yml"), -1) {
		if !strings.Contains(m[1], "daemon_") {
			queries = append(queries, m[1])
		} else if _, err := parse(m[1]); err != nil {
			t.Error(err)
		}
	}
	checkAll(t, words, queries, 10)
}

var labelsOfVariable = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

// TestDashboard: the queries of docs/grafana/netco.json, and those of its
// variables.
func TestDashboard(t *testing.T) {
	var d struct {
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "../../docs/grafana/netco.json")), &d); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := labelsOfVariable.FindStringSubmatch(v.Definition)
		if m == nil {
			t.Errorf("variable %s: %q", v.Name, v.Definition)
			continue
		}
		queries = append(queries, "count by ("+m[2]+") ("+m[1]+")")
	}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			queries = append(queries, q.Expr)
		}
	}
	checkAll(t, vocabularyOf(t), queries, 60)
}

func checkAll(t *testing.T, words vocabulary, queries []string, least int) {
	t.Helper()
	if len(queries) < least {
		t.Errorf("only %d queries found", len(queries))
	}
	for _, q := range queries {
		if err := words.check(q); err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
