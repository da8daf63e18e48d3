package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// daemon is the process under test.
type daemon struct {
	cmd   *exec.Cmd
	tcp   target
	unix  target
	admin string
	http  http.Client

	exited chan struct{} // closed after the fields below are set
	err    error

	locked bool // its Processors have threads of their own

	mu      sync.Mutex // guards the figures of the log
	context string     // the context backend
	lines   int
	tail    []string       // the last lines
	odd     []string       // lines that are no JSON: a crash, most likely
	logged  map[string]int // by level and message
	stalls  map[string]int // watchdog's lines by cause
}

const startTime = time.Minute

// startDaemon starts it under torture by the collector, with all faults
// allowed, and waits until it is ready.
func startDaemon(path, dir string, locked bool, log io.Writer) (*daemon, error) {
	d := &daemon{locked: locked, exited: make(chan struct{}), logged: map[string]int{},
		stalls: map[string]int{}}
	d.unix = target{"unix", dir + "/socket"}
	d.cmd = exec.Command(path, "-addr", "127.0.0.1:0", "-unix", d.unix.address, "-admin",
		"127.0.0.1:0", fmt.Sprint("-lock-threads=", locked),
		"-faults", "-grace", "1m", "-write-timeout", "1m", "-dead-after", "10s", "-profile-labels")
	d.cmd.Env = append(os.Environ(), "GOGC=10",
		"GODEBUG=clobberfree=1,gcstoptheworld=0,madvdontneed=1", "GOTRACEBACK=all")
	d.http.Timeout = 30 * time.Second
	d.http.Transport = &http.Transport{DisableKeepAlives: true}
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	var read sync.WaitGroup
	ready := make(chan struct{})
	read.Go(func() { d.read(io.TeeReader(stderr, log), ready) })
	go func() {
		read.Wait()
		d.err = d.cmd.Wait()
		close(d.exited)
	}()
	select {
	case <-ready:
		return d, nil
	case <-d.exited:
		return nil, fmt.Errorf("the daemon has not started: %v\n%s", d.err, d.lastLines())
	case <-time.After(startTime):
		d.kill()
		return nil, fmt.Errorf("the daemon does not get ready\n%s", d.lastLines())
	}
}

func (d *daemon) kill() {
	d.cmd.Process.Kill()
	<-d.exited
}

const tailKept = 60

// read takes the log in. Every line must be JSON.
func (d *daemon) read(r io.Reader, ready chan struct{}) {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			d.line(bytes.TrimSpace(line), ready)
		}
		if err != nil {
			return
		}
	}
}

func (d *daemon) line(line []byte, ready chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines++
	if d.tail = append(d.tail, string(line)); len(d.tail) > tailKept {
		d.tail = d.tail[1:]
	}
	var said struct {
		Level, Msg, Network, Address, Cause, Context string
	}
	if err := json.Unmarshal(line, &said); err != nil {
		if len(d.odd) < tailKept {
			d.odd = append(d.odd, string(line))
		}
		return
	}
	d.logged[said.Level+" "+said.Msg]++
	switch {
	case said.Msg == "listening" && said.Network == "tcp":
		d.tcp = target{"tcp", said.Address}
	case said.Msg == "scheduler started":
		d.context = said.Context
	case said.Msg == "admin":
		d.admin = "http://" + said.Address
	case said.Msg == "ready":
		close(ready)
	case said.Cause != "":
		d.stalls[said.Cause]++
	}
}

// heldUp reports whether a coroutine that blocks outside netco holds up its
// Processor.
func (d *daemon) heldUp() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.locked || d.context == "portable"
}

func (d *daemon) lastLines() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.tail, "\n")
}

// stallsLogged returns how many lines were logged about stalls of these causes.
func (d *daemon) stallsLogged(causes []string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range causes {
		n += d.stalls[c]
	}
	return n
}

func (d *daemon) signal(sig syscall.Signal) error { return d.cmd.Process.Signal(sig) }

// get fetches a page whole.
func (d *daemon) get(path string) (status int, body []byte, err error) {
	r, err := d.http.Get(d.admin + path)
	if err != nil {
		return 0, nil, err
	}
	defer r.Body.Close()
	body, err = io.ReadAll(r.Body)
	return r.StatusCode, body, err
}

// page fetches one that must be there.
func (d *daemon) page(path string) ([]byte, error) {
	status, body, err := d.get(path)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", status, body)
	}
	if err == nil && len(body) == 0 {
		err = fmt.Errorf("an empty page")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return body, nil
}

func (d *daemon) setLevel(level string) error {
	r, err := http.NewRequest(http.MethodPut, d.admin+"/debug/loglevel",
		strings.NewReader(`{"level":"`+level+`"}`))
	if err != nil {
		return err
	}
	answer, err := d.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("PUT /debug/loglevel: status %d", answer.StatusCode)
	}
	return nil
}
