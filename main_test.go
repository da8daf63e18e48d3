package netco_test

import (
	"bufio"
	"bytes"
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
		<-ctx.Done()
		fmt.Println("cause:", context.Cause(ctx))
		return errors.New("could not save")
	}},
	"cause": {nil, func(ctx context.Context) error {
		fmt.Println("ready")
		<-ctx.Done()
		return fmt.Errorf("serving: %w", context.Cause(ctx))
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
	err bytes.Buffer // to be read when the process has ended
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
		p.cmd.Wait()
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
	got := p.err.String()
	text, not := strings.CutPrefix(what, "!")
	if what == "" && got != "" || strings.Contains(got, text) == not {
		p.t.Errorf("stderr %q, want %q", got, what)
	}
}

// mainScripts say what the process of a scene does: it prints lines, each of
// which begins so; "SIG" and a number is a signal that it gets in between. At
// its end it has written to stderr what is wanted, not what follows a "!", and
// nothing where that is "".
var mainScripts = []struct {
	scene  string
	lines  []string
	code   int
	stderr []string
}{
	{"nothing", []string{"draining: <nil>"}, netco.ExitOK, []string{""}},
	{"error", []string{"draining: no such thing"}, netco.ExitFailed, []string{"no such thing"}},
	{"goexit", []string{"draining: netco: main has panicked or called Goexit"}, netco.ExitFailed,
		[]string{"called Goexit"}},
	{"panic", []string{"draining: netco: main has panicked or called Goexit"}, netco.ExitFailed,
		[]string{"has panicked"}},
	{"started", nil, netco.ExitFailed, []string{"started"}},
	{"options", nil, netco.ExitFailed, []string{"Options.Processors"}},
	// The coroutine lives longer than main.
	{"outlives", []string{"done", "draining: <nil>"}, netco.ExitOK, nil},
	{"log", []string{"draining: no such thing", "logged: no such thing"}, netco.ExitFailed,
		[]string{""}},
	{"sleeper", []string{"ready", "SIG15", "draining: netco: terminated", "unwound"},
		netco.ExitForced, endedAsleep},
	{"hasty", []string{"ready", "SIG15", "draining: netco: terminated", "unwound"},
		netco.ExitForced, endedAsleep},
	{"stubborn", []string{"ready", "SIG15", "draining: netco: terminated"}, netco.ExitLeft,
		[]string{"1 coroutines have not ended"}},
	{"waits", []string{"ready", "SIG15", "draining: netco: terminated", "SIG2"}, 128 + 2, nil},
	{"waits", []string{"ready", "SIG15", "draining: netco: terminated", "SIG15"}, 128 + 15, nil},
	// What goes wrong after the signal is not lost.
	{"late error", []string{"ready", "SIG15", "draining: netco: terminated",
		"cause: netco: terminated"}, netco.ExitFailed, []string{"could not save"}},
	{"cause", []string{"ready", "SIG15", "draining: netco: terminated"}, netco.ExitOK,
		[]string{""}},
	{"deadlock", []string{"draining: netco: deadlock: 2 coroutines"}, netco.ExitStuck,
		[]string{"ended by force: coroutine ", "waiting for a lock", "!called Goexit"}},
}

// endedAsleep is said of a coroutine that was ended by force.
var endedAsleep = []string{"ended by force: coroutine ", ", waiting for a time, made at ",
	"!called Goexit"}

func TestMainScripts(t *testing.T) {
	t.Parallel()
	for _, c := range mainScripts {
		t.Run(c.scene, func(t *testing.T) {
			t.Parallel()
			if c.scene == "stubborn" {
				testenv.Long(t) // the five seconds of a forced end, as one of examples/daemon
			}
			p := startMain(t, c.scene)
			for _, line := range c.lines {
				var sig syscall.Signal
				if n, _ := fmt.Sscanf(line, "SIG%d", &sig); n == 1 {
					p.cmd.Process.Signal(sig)
				} else {
					p.line(line)
				}
			}
			p.ends(c.code)
			for _, text := range c.stderr {
				p.wrote(text)
			}
		})
	}
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
