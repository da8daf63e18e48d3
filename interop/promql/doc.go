// Package promql is empty but for tests: they hold the queries in docs/METRICS.md,
// docs/alerts.yml and docs/grafana/netco.json against Prometheus' own parser and
// against the metrics that there are.
//
// The parser checks the syntax, and that ranges stand where ranges belong. The
// tests add what the parser cannot know: names, labels and label values, and
// whether a function fits the metric's type.
//
// It is a module of its own, since netco's users do not need Prometheus, nor do
// the tests beside it.
package promql
