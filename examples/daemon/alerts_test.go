package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const (
	alertsFile    = "../../docs/alerts.yml"
	operatingFile = "../../docs/OPERATING.md"
	metricsFile   = "../../docs/METRICS.md"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	metricName    = regexp.MustCompile(`\b(?:netco|daemon|process|go)_[a-z0-9_]+\b`)
	alertExpr     = regexp.MustCompile(`(?m)^\s+expr: (.*)$`)
	alertSee      = regexp.MustCompile(`(?m)^\s+see: "(.*)"$`)
	histogramPart = regexp.MustCompile(`_(bucket|count|sum)$`)
	heading       = regexp.MustCompile(`(?m)^##+ (.*)$`)
)

// TestAlertsNameWhatExists: the alerts and docs/OPERATING.md speak of metrics
// that the daemon has and docs/METRICS.md explains, and what the alerts say to
// see is there. Only a Processor with a thread of its own has them all, but for
// one that begins with the first handoff.
func TestAlertsNameWhatExists(t *testing.T) {
	_, served := start(t, "-lock-threads").get("/metrics")
	explained, operating, alerts := read(t, metricsFile), read(t, operatingFile),
		read(t, alertsFile)
	var exprs []string
	for _, m := range alertExpr.FindAllStringSubmatch(alerts, -1) {
		exprs = append(exprs, m[1])
	}
	if len(exprs) < 10 || strings.Count(alerts, "- alert:") != len(exprs) {
		t.Fatalf("%d expressions in %s", len(exprs), alertsFile)
	}
	for _, name := range metricName.FindAllString(strings.Join(exprs, "\n")+operating, -1) {
		base := histogramPart.ReplaceAllString(name, "")
		if !strings.Contains(served, "\n# TYPE "+base+" ") &&
			name != "netco_handoffs_by_site_total" {
			t.Errorf("%s is not among the daemon's metrics", name)
		}
		if strings.HasPrefix(name, "netco_") && !strings.Contains(explained, "`"+base+"`") {
			t.Errorf("%s is not in %s", name, metricsFile)
		}
	}
	there := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(operating, -1) {
		there[m[1]] = true
	}
	all := alertSee.FindAllStringSubmatch(alerts, -1)
	if len(all) != len(exprs) {
		t.Errorf("%d alerts say what to see, of %d", len(all), len(exprs))
	}
	for _, m := range all {
		if !there[m[1]] {
			t.Errorf("an alert says to see %q, which is no heading of %s", m[1], operatingFile)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\s+- alert: (\w+)$`).FindAllStringSubmatch(
		alerts, -1) {
		if !strings.Contains(operating, "`"+m[1]+"`") {
			t.Errorf("%s does not speak of the alert %s", operatingFile, m[1])
		}
	}
}

// TestAlertRules has Prometheus' own tool read the rules.
func TestAlertRules(t *testing.T) {
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	out, err := exec.Command(program, "check", "rules", alertsFile).CombinedOutput()
	if err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
}
