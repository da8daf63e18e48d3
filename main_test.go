package netco_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
)

// mainScene is a daemon with Main. Both of its functions may be nil.
type mainScene struct {
	prepare func(o *netco.MainOptions)
	serve   func(ctx context.Context) error
}

// returning is a main function that ends with an error.
func returning(text string) func(context.Context) error {
	return func(context.Context) error { return errors.New(text) }
}

// sleeping is one that says when it sleeps, and when it is unwound.
func sleeping(context.Context) error {
	defer fmt.Println("unwound")
	_, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
		fmt.Println("ready")
	}}) // runs once this one sleeps
	netco.Sleep(time.Hour)
	return err
}

var mainScenes = map[string]mainScene{
	"nothing": {},
	"error":   {nil, returning("no such thing")},
	"goexit":  {nil, func(context.Context) error { runtime.Goexit(); return nil }},
	"panic": {func(o *netco.MainOptions) { o.Options.OnPanic = func(netco.PanicInfo) {} },
		func(context.Context) error { panic("at once") }},
	"started": {func(*netco.MainOptions) { netco.Start(netco.Options{}) }, nil},
	"options": {func(o *netco.MainOptions) { o.Options.Processors = -1 }, nil},
	"echo":    {nil, echoMain},
	"serve":   {nil, serveMain},
	"outlives": {nil, func(context.Context) error {
		_, err := netco.Go(func() { netco.Sleep(20 * time.Millisecond); fmt.Println("done") })
		return err
	}},
	"sleeper": {func(o *netco.MainOptions) { o.Grace = 50 * time.Millisecond }, sleeping},
	"hasty":   {func(o *netco.MainOptions) { o.Grace = -1 }, sleeping},
	"stubborn": {func(o *netco.MainOptions) { o.Grace = 50 * time.Millisecond },
		func(context.Context) error {
			fmt.Println("ready")
			for {
				time.Sleep(time.Millisecond)
			}
		}},
	"waits": {nil, func(context.Context) error {
		fmt.Println("ready")
		netco.Sleep(time.Hour)
		return nil
	}},
	"late error": {nil, func(ctx context.Context) error {
		fmt.Println("ready")
		for ctx.Err() == nil {
			netco.Sleep(time.Millisecond)
		}
		fmt.Println("cause:", context.Cause(ctx))
		return errors.New("could not save")
	}},
	"deadlock": {nil, func(context.Context) error { inLocks(); return nil }},
	"log":      {nil, returning("no such thing")},
}

func init() {
	for scene := range mainScenes {
		reporters["Main, "+scene] = func() { os.Exit(playMain(scene)) }
	}
}

// playMain plays a scene in a process of its own. It prints what it has come
// to, a line each.
func playMain(scene string) int {
	core, logs := observer.New(zap.InfoLevel)
	o := netco.MainOptions{
		Grace:    testenv.Limit,
		Draining: func(why error) { fmt.Println("draining:", why) },
	}
	s := mainScenes[scene]
	if s.prepare != nil {
		s.prepare(&o)
	}
	if s.serve == nil {
		s.serve = func(context.Context) error { return nil }
	}
	if scene == "log" {
		o.Options.Logger = zap.New(core)
	}
	code := netco.Main(s.serve, o)
	for _, e := range logs.FilterMessage("main has failed").All() {
		fmt.Println("logged:", e.ContextMap()["error"])
	}
	return code
}

// echoMain echoes until the listener is drained.
func echoMain(ctx context.Context) error {
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer ln.Close()
	fmt.Println("ready", ln.Addr())
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		netco.Go(func() { defer c.Close(); io.Copy(c, c) })
	}
}

// serveMain is echoMain by Serve.
func serveMain(ctx context.Context) error {
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("ready", ln.Addr())
	return netco.Serve(ln, echoAll)
}

type mainProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Scanner
	err lockedBuffer
}

func startMain(t *testing.T, scene string) *mainProcess {
	t.Helper()
	p := &mainProcess{t: t, cmd: reporters.Command(t, "Main, "+scene)}
	switch scene {
	case "sleeper", "hasty", "stubborn", "deadlock": // are about what is reported
	default:
		p.cmd.Env = append(p.cmd.Env, "NETCO_REPORT=off") // of a busy machine's stalls
	}
	p.cmd.Stderr = &p.err
	p.out = bufio.NewScanner(testenv.Must(p.cmd.StdoutPipe()))
	testenv.OK(t, p.cmd.Start())
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	return p
}

// line wants the process to print a line that begins so, and returns the rest.
func (p *mainProcess) line(begins string) string {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatalf("no line, want %q; %v; stderr: %s", begins, p.out.Err(), p.err.String())
	}
	rest, ok := strings.CutPrefix(p.out.Text(), begins)
	if !ok {
		p.t.Fatalf("printed %q, want %q", p.out.Text(), begins)
	}
	return strings.TrimSpace(rest)
}

// ends wants no further line, and the exit code.
func (p *mainProcess) ends(code int) {
	p.t.Helper()
	for p.out.Scan() {
		p.t.Errorf("printed %q", p.out.Text())
	}
	p.cmd.Wait()
	testenv.Equal(p.t, p.cmd.ProcessState.ExitCode(), code, "exit code", p.cmd.ProcessState,
		"stderr", p.err.String())
}

func (p *mainProcess) wrote(what string) {
	p.t.Helper()
	if got := p.err.String(); what == "" && got != "" || !strings.Contains(got, what) {
		p.t.Errorf("stderr %q, want %q", got, what)
	}
}

func TestMainEndsByItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scene, draining, stderr string
		code                    int
	}{
		{"nothing", "draining: <nil>", "", netco.ExitOK},
		{"error", "draining: no such thing", "no such thing", netco.ExitFailed},
		{"goexit", "draining: netco: main has panicked or called Goexit", "called Goexit",
			netco.ExitFailed},
		{"panic", "draining: netco: main has panicked or called Goexit", "has panicked",
			netco.ExitFailed},
		{"started", "", "already started", netco.ExitFailed},
		{"options", "", "Options.Processors", netco.ExitFailed},
	} {
		t.Run(c.scene, func(t *testing.T) {
			p := startMain(t, c.scene)
			if c.draining != "" {
				p.line(c.draining)
			}
			p.ends(c.code)
			if c.scene == "started" {
				c.stderr = "started"
			}
			p.wrote(c.stderr)
		})
	}
	p := startMain(t, "outlives")
	p.line("done") // of a coroutine that lives longer than main
	p.line("draining: <nil>")
	p.ends(netco.ExitOK)
	p = startMain(t, "log")
	p.line("draining: no such thing")
	p.line("logged: no such thing")
	p.ends(netco.ExitFailed)
	p.wrote("")
}

// TestMainEndsIdle: connections of Serve that wait for a request do not keep
// the program. They held it up for the whole of Grace, and then were ended by
// force, for exit code 3.
func TestMainEndsIdle(t *testing.T) {
	t.Parallel()
	p := startMain(t, "serve")
	addr := p.line("ready")
	var clients []net.Conn
	for range 3 {
		clients = append(clients, client(t, addr))
	}
	exchange(t, clients[2]) // all have been accepted
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.line("draining: netco: terminated")
	p.ends(netco.ExitOK)
	p.wrote("")
	for _, c := range clients {
		testenv.Equal(t, testenv.Err(c.Read(make([]byte, 1))), io.EOF, "the client reads")
	}
}

// TestMainDrains: the first signal lets a connection go on, refuses new ones,
// and waits for it.
func TestMainDrains(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := startMain(t, "echo")
		addr := p.line("ready")
		c := client(t, addr)
		exchange(t, c)
		p.cmd.Process.Signal(sig)
		p.line("draining: netco: " + sig.String())
		for { // the listener is closed a moment later
			other, err := net.Dial("tcp", addr)
			if err != nil {
				break
			}
			other.Close()
		}
		exchange(t, c)
		c.Close()
		p.ends(netco.ExitOK)
		p.wrote("")
	}
}

func TestMainByForce(t *testing.T) {
	t.Parallel()
	for _, scene := range []string{"sleeper", "hasty"} {
		p := startMain(t, scene)
		p.line("ready")
		p.cmd.Process.Signal(syscall.SIGTERM)
		p.line("draining: netco: terminated")
		p.line("unwound")
		p.ends(netco.ExitForced)
		p.wrote("ended by force: coroutine ") // which it did not say
		p.wrote(", waiting for a time, made at ")
	}
}

func TestMainLeft(t *testing.T) {
	t.Parallel()
	testenv.Long(t) // it takes the five seconds of a forced end, as one of examples/daemon does
	p := startMain(t, "stubborn")
	p.line("ready")
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.line("draining: netco: terminated")
	p.ends(netco.ExitLeft)
	p.wrote("1 coroutines have not ended")
}

func TestMainSecondSignal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := startMain(t, "waits")
		p.line("ready")
		p.cmd.Process.Signal(syscall.SIGTERM)
		p.line("draining: netco: terminated")
		p.cmd.Process.Signal(sig)
		p.ends(128 + int(sig))
	}
}

// TestMainLateError: what goes wrong after the signal is not lost.
func TestMainLateError(t *testing.T) {
	t.Parallel()
	p := startMain(t, "late error")
	p.line("ready")
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.line("draining: netco: terminated")
	p.line("cause: netco: terminated")
	p.ends(netco.ExitFailed)
	p.wrote("could not save")
}
