// Package child runs a server as a child process and talks to it through its
// stdin and stdout, one JSON line per message: the child says hello with Hello,
// then answers each "stat" line with Stat, and ends when its stdin does.
//
// No child outlives its parent: its stdin ends with the parent however that
// dies, and should the child be too stuck to notice, the kernel kills it
// (Pdeathsig). Serve is the child's side, Start the parent's.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/cpulist"
)

const (
	replyTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
	// stderrKept is how much of a child's stderr an error shows: the beginning,
	// for that is where a panic names its cause.
	stderrKept = 4 << 10
)

// Hello is a child's first line.
type Hello struct {
	Addr       string `json:"addr"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Backend    string `json:"backend,omitempty"`
	Metrics    string `json:"metrics,omitempty"` // the address of its metrics, if it has any
}

// Stat is what getrusage says of a child.
type Stat struct {
	UserUs      int64 `json:"ru_utime_us"`
	SystemUs    int64 `json:"ru_stime_us"`
	Voluntary   int64 `json:"nvcsw"`
	Involuntary int64 `json:"nivcsw"`
}

// Process is a running child. One goroutine uses it.
type Process struct {
	Hello Hello

	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	lines  *bufio.Reader
	stderr *head
	exited chan struct{} // closed when the child is gone and waited for
	err    error         // set before exited is closed
}

// Start runs this executable with args, bound to cpus from its first
// instruction on, and waits for its hello. Cancelling ctx kills it.
func Start(ctx context.Context, cpus []int, env, args []string) (*Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	p := &Process{cmd: cmd, stderr: new(head), exited: make(chan struct{})}
	cmd.Stderr = p.stderr
	if err := p.start(cpus); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	if err := p.reply(&p.Hello); err != nil {
		err = p.Explain(fmt.Errorf("start: %w", err))
		p.Kill()
		return nil, err
	}
	return p, nil
}

func (p *Process) start(cpus []int) error {
	childIn, parentIn, err := os.Pipe()
	if err != nil {
		return err
	}
	defer childIn.Close()
	parentOut, childOut, err := os.Pipe()
	if err != nil {
		parentIn.Close()
		return err
	}
	defer childOut.Close()
	p.stdin, p.stdout, p.lines = parentIn, parentOut, bufio.NewReader(parentOut)
	p.cmd.Stdin, p.cmd.Stdout = childIn, childOut

	// A child inherits the affinity of the thread that forks it, and so Go's
	// default GOMAXPROCS in the child follows it too.
	release, err := cpulist.Bind(cpus)
	if err == nil {
		err = p.cmd.Start()
		release()
	}
	if err != nil {
		p.closePipes()
	}
	return err
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stat asks the child for its resource usage.
func (p *Process) Stat() (Stat, error) {
	var s Stat
	if _, err := io.WriteString(p.stdin, "stat\n"); err != nil {
		return s, p.Explain(fmt.Errorf("stat: %w", err))
	}
	if err := p.reply(&s); err != nil {
		return s, p.Explain(fmt.Errorf("stat: %w", err))
	}
	return s, nil
}

func (p *Process) reply(v any) error {
	if err := p.stdout.SetReadDeadline(time.Now().Add(replyTimeout)); err != nil {
		return err
	}
	line, err := p.lines.ReadBytes('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("no reply within %v", replyTimeout)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// Explain adds to err how the child ended and what it had to say, if it ended.
func (p *Process) Explain(err error) error {
	// A process that ends closes its files, stdout before its sockets, and can
	// be waited for some time after that.
	p.stdout.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if _, end := p.lines.Peek(1); end == nil || errors.Is(end, os.ErrDeadlineExceeded) {
		return err
	}
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		return err
	}
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	if said := strings.TrimSpace(p.stderr.String()); said != "" {
		how += "\n" + said
	}
	return fmt.Errorf("%w (the server died: %s)", err, how)
}

// Stop ends the child by closing its stdin and kills it when that takes too
// long. It returns an error unless the child ended on its own with status 0.
func (p *Process) Stop() error {
	p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		p.Kill()
		return fmt.Errorf("the server did not end within %v of its stdin; killed", stopTimeout)
	}
	p.closePipes()
	if p.err != nil {
		return p.Explain(errors.New("stop"))
	}
	return nil
}

// Kill ends the child at once and waits for it. It may be called again and
// after Stop.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may be gone
	<-p.exited
	p.closePipes()
}

func (p *Process) closePipes() {
	p.stdin.Close()
	p.stdout.Close()
}

// head keeps the beginning of what is written to it.
type head struct {
	mu   sync.Mutex
	text []byte
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, b[:min(len(b), stderrKept-len(h.text))]...)
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}
