package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// daemon is the process under test.
type daemon struct {
	cmd    *exec.Cmd
	addrs  map[string]string // by network
	admin  string
	http   http.Client
	exited chan struct{} // closed after err is set
	err    error

	mu  sync.Mutex // guards the figures of the log
	log []string
	odd []string // lines that are no JSON, a crash most likely, and errors
}

// startDaemon builds it, starts it under torture by the collector, with all
// faults allowed, and waits until it is ready.
func startDaemon(dir string) (*daemon, error) {
	path := dir + "/daemon"
	// Without its commit: git may refuse to report.
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path,
		"github.com/netco-go/netco/examples/daemon").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	d := &daemon{exited: make(chan struct{}), addrs: map[string]string{"unix": dir + "/socket"}}
	d.cmd = exec.Command(path, "-addr", "127.0.0.1:0", "-unix", d.addrs["unix"], "-admin",
		"127.0.0.1:0", "-faults", "-grace", "1m", "-write-timeout", "1m", "-dead-after", "10s",
		"-profile-labels")
	d.cmd.Env = append(os.Environ(), "GOGC=10", "GODEBUG=clobberfree=1,madvdontneed=1",
		"GOTRACEBACK=all")
	d.http.Timeout = 30 * time.Second
	d.http.Transport = &http.Transport{DisableKeepAlives: true}
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Buffer(nil, 1<<24); lines.Scan(); {
			d.line(lines.Text(), ready)
		}
		d.err = d.cmd.Wait()
		close(d.exited)
	}()
	select {
	case <-ready:
		return d, nil
	case <-d.exited:
	case <-time.After(patience):
		d.cmd.Process.Kill()
		<-d.exited
	}
	return nil, fmt.Errorf("the daemon does not get ready: %v\n%s", d.err, d.lastLines())
}

// line takes a line of the log in.
func (d *daemon) line(line string, ready chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, line)
	var said struct{ Level, Msg, Network, Address string }
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Level == "error" &&
		said.Msg != "coroutine panicked" {
		d.odd = append(d.odd, line)
	}
	switch said.Msg {
	case "listening":
		d.addrs[said.Network] = said.Address
	case "admin":
		d.admin = "http://" + said.Address
	case "ready":
		close(ready)
	}
}

// lastLines returns the last ones of the log.
func (d *daemon) lastLines() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.log[max(0, len(d.log)-60):], "\n")
}

// ask fetches a page whole, which must have that status and not be empty.
func (d *daemon) ask(method, path, body string, status int) (string, error) {
	r, err := http.NewRequest(method, d.admin+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	answer, err := d.http.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != status || len(text) == 0) {
		err = fmt.Errorf("%s: status %d: %.200s", path, answer.StatusCode, text)
	}
	return string(text), err
}

func (d *daemon) page(path string) (string, error) { return d.ask("GET", path, "", http.StatusOK) }

// metrics are the daemon's at one time, by series: a name with its labels.
type metrics map[string]float64

func (d *daemon) scrape() (metrics, error) {
	text, err := d.page("/metrics")
	return parseMetrics(text), err
}

// parseMetrics reads Prometheus' text format.
func parseMetrics(text string) metrics {
	m := metrics{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if n, err := strconv.ParseFloat(line[at+1:], 64); err == nil && line[0] != '#' {
			m[line[:at]] = n
		}
	}
	return m
}

// sum adds up all series of a name. There must be some.
func (m metrics) sum(name string) (sum float64, err error) {
	err = fmt.Errorf("there is no metric %s", name)
	for series, n := range m {
		if base, _, _ := strings.Cut(series, "{"); base == name {
			sum, err = sum+n, nil
		}
	}
	return sum, err
}

func (d *daemon) value(name string) (float64, error) {
	m, err := d.scrape()
	if err != nil {
		return 0, err
	}
	return m.sum(name)
}

// wants is an error unless a metric has that value.
func (d *daemon) wants(name string, want float64) error {
	n, err := d.value(name)
	if err == nil && n != want {
		err = fmt.Errorf("%s is %v, want %v", name, n, want)
	}
	return err
}
