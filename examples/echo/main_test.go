package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain runs the daemon itself when the test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("ECHO_CHILD") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// daemon is the daemon as a child of the test.
type daemon struct {
	*exec.Cmd
	addr, metrics string
	said          bytes.Buffer // on stderr
}

// start starts the daemon on free ports, and ends it with the test if the test
// does not.
func start(t *testing.T, args ...string) *daemon {
	t.Helper()
	d := &daemon{Cmd: exec.Command(os.Args[0],
		append([]string{"-addr", "127.0.0.1:0", "-metrics", "127.0.0.1:0"}, args...)...)}
	d.Env = append(os.Environ(), "ECHO_CHILD=1")
	d.Stderr = io.MultiWriter(os.Stderr, &d.said)
	out, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if d.ProcessState == nil {
			d.Process.Kill()
			d.Wait()
		}
	})
	lines := bufio.NewReader(out)
	for _, want := range []struct {
		before string
		into   *string
	}{{"listening on ", &d.addr}, {"metrics on ", &d.metrics}} {
		line, err := lines.ReadString('\n')
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), want.before)
		if err != nil || !ok {
			t.Fatalf("%q, %v, want %q", line, err, want.before)
		}
		*want.into = rest
	}
	return d
}

// dial connects to the daemon until the test's end.
func (d *daemon) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func echoed(t *testing.T, c net.Conn, what string) {
	t.Helper()
	if _, err := c.Write([]byte(what)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(what))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != what {
		t.Fatalf("%q, %v", got, err)
	}
}

// scrape gets the metrics as text.
func (d *daemon) scrape(t *testing.T, accept string) string {
	t.Helper()
	req, err := http.NewRequest("GET", d.metrics, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", d.metrics, resp.Status, err)
	}
	return string(text)
}

// TestEchoAndStop talks to the daemon, ends it by each signal with connections
// still open, and wants exit code 0, and that none was ended by force.
func TestEchoAndStop(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			d := start(t, "-grace", "1m")
			c, idle := d.dial(t), d.dial(t)
			for range 3 {
				echoed(t, c, "hello")
			}
			d.Process.Signal(sig)
			if err := d.Wait(); err != nil {
				t.Errorf("ended with %v", err)
			}
			if text := d.said.String(); strings.Contains(text, "by force") {
				t.Errorf("it says %s", text)
			}
			for _, c := range []net.Conn{c, idle} {
				if _, err := c.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("after the end: %v, want EOF", err)
				}
			}
		})
	}
}

// TestMetrics wants what the daemon has done in its metrics, as text and as
// OpenMetrics, until its end.
func TestMetrics(t *testing.T) {
	d := start(t, "-processors", "1", "-grace", "100ms")
	c := d.dial(t)
	for range 3 {
		echoed(t, c, "hello")
	}
	for accept, more := range map[string]string{
		"text/plain": "",
		"application/openmetrics-text;version=1.0.0": "# EOF\n",
	} {
		wanted := []string{
			`netco_received_bytes_total{processor="0"} 15`,
			`netco_sent_bytes_total{processor="0"} 15`,
			`netco_connections_accepted_total{processor="0"} 1`,
			`netco_coroutines{processor="0",state="waiting"} 2`,
			`netco_processors 1`, `netco_scheduler_phase{phase="running"} 1`, `go_goroutines `,
			`process_open_fds `,
		}
		var text string
		lacks := func(want string) bool { return !strings.Contains(text, "\n"+want) }
		// An answer arrives before the thread that sent it has counted it.
		for limit := time.Now().Add(time.Minute); ; {
			text = d.scrape(t, accept)
			if !slices.ContainsFunc(wanted, lacks) || time.Now().After(limit) {
				break
			}
		}
		if !strings.HasSuffix(text, more) {
			t.Errorf("%s ends with %q", accept, text[max(len(text)-40, 0):])
		}
		for _, want := range wanted {
			if lacks(want) {
				t.Errorf("%s: no %q", accept, want)
			}
		}
	}
	d.Process.Signal(syscall.SIGTERM)
	if err := d.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if resp, err := http.Get(d.metrics); err == nil {
		resp.Body.Close()
		t.Error("the metrics outlive the daemon")
	}
}

// TestMetricsAddressInUse: what cannot be served is reported, and the exit code
// says so.
func TestMetricsAddressInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cmd := exec.Command(os.Args[0], "-addr", "127.0.0.1:0", "-metrics", ln.Addr().String())
	cmd.Env = append(os.Environ(), "ECHO_CHILD=1")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 ||
		!strings.Contains(string(out), "address already in use") {
		t.Errorf("%v: %s", err, out)
	}
}
