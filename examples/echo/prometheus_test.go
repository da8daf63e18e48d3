package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// TestPrometheus lets Prometheus itself scrape the daemon, and wants there what
// the daemon says of itself: every counter, the native histograms, and an
// answer to every query of the dashboard.
func TestPrometheus(t *testing.T) {
	testenv.Long(t)
	bin, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed")
	}
	d := start(t, "-processors", "2")
	p := startPrometheus(t, bin, strings.TrimSuffix(strings.TrimPrefix(d.metrics, "http://"),
		"/metrics"))
	c := d.dial(t)
	// Two scrapes at least, with work in between.
	p.await(t, "rate(netco_turns_total[10s])", func(v []value) bool {
		echoed(t, c, "hello")
		return len(v) == 2
	}, "two Processors")
	for range 100 {
		echoed(t, c, "once more")
	}

	var own map[string]float64
	var differ []string
	p.await(t, `{__name__=~"netco_.*_total"}`, func(v []value) bool {
		// In each round: some is counted only when a turn ends.
		own = samples(d.scrape(t, "text/plain"))
		differ = differences(t, own, v)
		return len(differ) == 0
	}, &differ)

	for deadline := time.Now().Add(gaveUp); ; { // a Processor may still take a turn now and then
		wrong := p.histogram(t, own, "netco_turn_duration_seconds")
		if len(wrong) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(strings.Join(wrong, "\n"))
		}
		time.Sleep(50 * time.Millisecond)
		own = samples(d.scrape(t, "text/plain"))
	}
	p.dashboard(t)
	checkText(t, d.scrape(t, "text/plain"))
}

// monitor is a Prometheus server.
type monitor struct{ url string }

// startPrometheus starts a server that scrapes target each second, and ends it
// with the test. Prometheus does not report which port it has been given, so it
// gets one that was free; another if that has been taken meanwhile.
func startPrometheus(t *testing.T, bin, target string) *monitor {
	t.Helper()
	for range 10 {
		if p := tryPrometheus(t, bin, target); p != nil {
			return p
		}
	}
	t.Fatal("Prometheus does not start")
	return nil
}

// untilTest starts cmd, and ends it with the test. The channel is closed when
// it has ended.
func untilTest(t *testing.T, cmd *exec.Cmd) (ended chan struct{}) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// The death of the parent is that of the thread which started the
		// child: it must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(gaveUp):
			cmd.Process.Kill()
			<-ended
		}
	})
	return ended
}

// tryPrometheus returns nil if the server has ended before it could be talked
// to.
func tryPrometheus(t *testing.T, bin, target string) *monitor {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := "global: {scrape_interval: 1s}\nscrape_configs: [{job_name: echo, static_configs: " +
		"[{targets: ['" + target + "']}]}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	var log bytes.Buffer
	cmd := exec.Command(bin, "--config.file="+config, "--storage.tsdb.path="+
		filepath.Join(dir, "data"), "--web.listen-address="+addr,
		"--enable-feature=native-histograms", "--log.level=warn")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Prometheus' log:\n%s", &log)
		}
	})
	ended := untilTest(t, cmd)
	p := &monitor{"http://" + addr}
	for deadline := time.Now().Add(gaveUp); time.Now().Before(deadline); {
		select {
		case <-ended:
			t.Logf("Prometheus has ended, it said:\n%s", &log)
			return nil
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := p.try("vector(1)"); err == nil {
			return p
		}
	}
	t.Fatal("Prometheus does not answer")
	return nil
}

const gaveUp = time.Minute

// value is one series of an answer.
type value struct {
	Metric map[string]string
	Value  [2]any // time, number as text
}

func (v value) number(t *testing.T) float64 {
	t.Helper()
	text, _ := v.Value[1].(string)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// series names it as the text format does.
func (v value) series() string {
	var labels []string
	for name, value := range v.Metric {
		if name != "__name__" && name != "instance" && name != "job" {
			labels = append(labels, fmt.Sprintf("%s=%q", name, value))
		}
	}
	sort.Strings(labels)
	if len(labels) == 0 {
		return v.Metric["__name__"]
	}
	return v.Metric["__name__"] + "{" + strings.Join(labels, ",") + "}"
}

func (m *monitor) try(query string) ([]value, error) {
	resp, err := http.PostForm(m.url+"/api/v1/query", url.Values{"query": {query}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []value }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", query, answer.Error)
	}
	return answer.Data.Result, nil
}

func (m *monitor) query(t *testing.T, query string) []value {
	t.Helper()
	v, err := m.try(query)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// await asks until the answer is what is waited for. The server need not be up
// yet.
func (m *monitor) await(t *testing.T, query string, ok func([]value) bool, what any) {
	t.Helper()
	for deadline := time.Now().Add(gaveUp); ; time.Sleep(50 * time.Millisecond) {
		v, err := m.try(query)
		if err == nil && ok(v) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting for %s: %v; %v", query, what, err)
		}
	}
}

// differences compares the counters of an idle daemon with Prometheus', all but
// those of time, which goes on.
func differences(t *testing.T, own map[string]float64, v []value) (differ []string) {
	t.Helper()
	missing := map[string]bool{}
	for name := range own {
		if strings.HasPrefix(name, "netco_") && strings.Contains(name, "_total") && !ofTime(name) {
			missing[name] = true
		}
	}
	for _, v := range v {
		name := v.series()
		if want, ok := own[name]; !ofTime(name) && (!ok || v.number(t) != want) {
			differ = append(differ, fmt.Sprintf("%s is %v at Prometheus, and %v (%v) at the daemon",
				name, v.number(t), want, ok))
		}
		delete(missing, name)
	}
	for name := range missing {
		differ = append(differ, "Prometheus has no "+name)
	}
	return differ
}

func ofTime(name string) bool { return strings.HasPrefix(name, "netco_processor_") }

// samples parses the text format.
func samples(text string) map[string]float64 {
	own := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			if n, err := strconv.ParseFloat(line[i+1:], 64); err == nil {
				own[line[:i]] = n
			}
		}
	}
	return own
}

// histogram wants the native histograms of both Processors to hold what the
// daemon's classic ones do, and returns where they do not.
func (m *monitor) histogram(t *testing.T, own map[string]float64, name string) (wrong []string) {
	t.Helper()
	differ := func(format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf(format, args...))
	}
	for _, v := range m.query(t, "histogram_count("+name+")") {
		series := name + `_count{processor="` + v.Metric["processor"] + `"}`
		if v.number(t) != own[series] || own[`netco_turns_total{processor="0"}`] == 0 {
			differ("%v observations in the native histogram, want %s %v", v.number(t), series,
				own[series])
		}
	}
	quantiles := m.query(t, "histogram_quantile(0.9, "+name+")")
	if len(quantiles) != 2 {
		differ("%d quantiles of native histograms, want 2", len(quantiles))
	}
	bounds := 0
	for series, n := range own {
		labels, ok := strings.CutPrefix(series, name+`_bucket{processor="`)
		processor, le, _ := strings.Cut(strings.TrimSuffix(labels, `"}`), `",le="`)
		if !ok || le == "+Inf" || own[name+`_count{processor="`+processor+`"}`] == 0 {
			continue
		}
		bounds++
		of := name + `{processor="` + processor + `"}`
		v := m.query(t, "histogram_fraction(0, "+le+", "+of+") * histogram_count("+of+")")
		if len(v) != 1 || math.Abs(v[0].number(t)-n) > 1e-6*n {
			differ("%s is %v, by the native histogram %v", series, n, v)
		}
	}
	if bounds < 13 {
		differ("only %d classic buckets", bounds)
	}
	return wrong
}

// dashboard asks every query of the dashboard. Only classic buckets have no
// answer, as the histograms are native here.
func (m *monitor) dashboard(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../../docs/grafana/netco.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$instance", ".*", "$processor", ".*",
		"$__rate_interval", "10s")
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			query := variables.Replace(target.Expr)
			classic := strings.HasPrefix(query, "sum by (le) ")
			// The one exists with locked threads only, the other from the first
			// handoff on.
			absent := strings.Contains(query, "netco_processor_cpu_seconds_total") ||
				strings.Contains(query, "netco_handoffs_by_site_total")
			// A scrape that takes too long leaves a hole.
			m.await(t, query, func(v []value) bool {
				return len(v) > 0 || classic || absent
			}, panel.Title)
		}
	}
}

// checkText lets promtool look at the text.
func checkText(t *testing.T, text string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed")
		return
	}
	var ours strings.Builder // client_golang's own have names that promtool finds fault with
	for line := range strings.Lines(text) {
		if strings.Contains(line, "netco_") {
			ours.WriteString(line)
		}
	}
	cmd := exec.Command(tool, "check", "metrics")
	cmd.Stdin = strings.NewReader(ours.String())
	if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
