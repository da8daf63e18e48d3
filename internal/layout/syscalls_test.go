package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/netco-go/netco/internal/testenv"
)

// TestSystemCallsAreListed: a coroutine may be left behind in a system call
// that enters the Go scheduler. So each place that makes one says why nothing
// of its Processor's owner is in hand there; see coroutine/handoff.go,
// the rule.
func TestSystemCallsAreListed(t *testing.T) {
	_, tr, _ := read(t)
	report(t, callsListed(t, tr, entries))
}

// TestSystemCallsRule: the rule finds what it is for.
func TestSystemCallsRule(t *testing.T) {
	const code = "package a\n\nfunc (x *T[K]) listed() { unix.Fstat(1, nil) }\n\nvar v = " +
		"syscall.Close(1)\n\n" +
		"func f() error {\n\tunix.Socket(1, 2, 3)\n\treturn sysx.CloseFD(unix.CmsgSpace(1))\n}\n"
	tr := load(t, fstest.MapFS{
		"go.mod":          {Data: []byte("module m\n")},
		"a/a.go":          {Data: []byte(code)},
		"a/a_test.go":     {Data: []byte(code)},
		"cmd/a/main.go":   {Data: []byte(code)},
		"a/testdata/b.go": {Data: []byte(code)},
	}, new(table))
	got := strings.Join(callsListed(t, tr, map[string]string{"why": "a.T.listed a.gone",
		"too": "a.T.listed"}), "\n")
	for _, want := range []string{"a/a.go:5: a.v calls syscall.Close",
		"a/a.go:9: a.f calls sysx.CloseFD", "a.T.listed is listed twice", "a.gone makes none"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %s in it", got, want)
		}
	}
	testenv.Equal(t, strings.Count(got, "\n")+1, 4, "lines", got)
}

// entries are the functions that make such calls, as folder.Receiver.Function,
// by the reason why they may.
var entries = map[string]string{
	"the caller is pinned": `
		internal/sysx.CloseStream internal/sysx.StartConnect internal/sysx.exchange internal/sysx.transfer
		internal/sysx.raceReceived internal/sysx.raceSending
	`,
	"it touches nothing of the owner's, and those who call it are on this list themselves": `
		internal/sysx.BindUnix internal/sysx.CloseFD internal/sysx.ConnectUnix internal/sysx.EnableBarriers
		internal/sysx.TryPoll internal/sysx.Recvmsg internal/sysx.Sendmsg internal/sysx.TrySendfile
		internal/sysx.WaitFor internal/sysx.fileIO
	`,
	"its callers look again before they count the call and go on": `
		internal/sysx.payload internal/sysx.several
		internal/fd.FD.ReadFile internal/fd.FD.WriteFile internal/fd.FD.ReadElsewhere
		internal/fd.FD.WriteElsewhere internal/fd.FD.SendFile internal/fd.FD.AwaitConnected
		internal/fd.MakeNonblocking socket.Socket.Recvmsg socket.Socket.Sendmsg
	`,
	"of few fds: then the call is raw": `
		epoller.Epoller.More internal/fd.FD.spuriousEOF internal/fd.FD.pollIn internal/fd.FD.PollReadable
	`,
	"the caller has only an fd in hand, or what no Processor owns": `
		socket.AdoptSocket socket.Dialer.connectTCP socket.Dialer.dialTCP socket.ListenConfig.borrowListener
		socket.NewFile socket.Socket.Accept socket.Socket.Bind socket.Socket.Getpeername socket.Socket.Getsockname
		socket.Socket.GetsockoptInt socket.Socket.Listen socket.Socket.SetsockoptInt socket.Socket.Shutdown
		socket.TCPConn.MultipathTCP socket.TCPConn.SetLinger socket.UDPConn.maySegment
		socket.duplicate socket.conn.shutdown socket.connectUDP
		internal/fd.Descriptor.close socket.dialUnix socket.isRegular socket.joinUDP socket.kernelNetwork
		socket.listens internal/fd.look internal/fd.pipeFDs.close internal/fd.pollWait.close socket.pollable
		socket.removeFile socket.reusePort socket.setDefaults socket.setKeepAlive socket.setSeconds
		socket.endpoints.file internal/fd.FD.SetInt socket.zoneIndex
	`,
	"no coroutine comes there: a loop, or a goroutine of the library's": `
		channel.enableBarriers epoller.Epoller.Wait epoller.Epoller.WaitFor epoller.Epoller.closeLocked epoller.Open
		processor.Group.StartMonitor processor.PollDesc.waitByPoll processor.ThreadCPUNs processor.pollWait.poll
		processor.ensureNetpoll timer.FD.Close
	`,
	"no look stands before it: it writes one eventfd and returns": `
		processor.pollWait.Woken
	`,
	"at the start of the process, or in a bubble, where no coroutines are": `
		internal/clock.kernelNow
	`,
	"in test processes only, some times at their start": `
		context.record
	`,
}

// unlisted are functions of packages unix and syscall that do not enter the
// scheduler: raw calls, and what makes no call at all.
var unlisted = map[string]bool{
	"CmsgLen": true, "CmsgSpace": true, "EpollCreate1": true, "EpollCtl": true, "Errno": true,
	"Gettid": true, "NewIfreq": true, "NsecToTimespec": true, "Pipe2": true,
	"RawSyscall": true, "RawSyscall6": true, "SchedGetaffinity": true, "SchedSetaffinity": true,
	"Socket":        true,
	"TimerfdCreate": true, "TimerfdSettime": true,
}

// entering are functions of internal/sysx that do enter it and are not pinned.
var entering = map[string]bool{
	"BindUnix": true, "CloseFD": true, "ConnectUnix": true, "EnableBarriers": true, "Read": true,
	"Recvmsg": true, "Sendmsg": true, "TryPoll": true, "TrySendfile": true, "Wait": true,
	"WaitFor": true, "Write": true,
}

// callsListed: the functions of the library that make those calls are listed,
// once, and the others not.
func callsListed(t *testing.T, tr *tree, listed map[string]string) (wrong []string) {
	makes := map[string]bool{}
	for _, names := range listed {
		for _, name := range strings.Fields(names) {
			if _, twice := makes[name]; twice {
				wrong = append(wrong, name+" is listed twice")
			}
			makes[name] = false
		}
	}
	for _, f := range tr.files {
		if top, _, _ := strings.Cut(f.dir, "/"); f.isTest() || top == "cmd" || top == "examples" ||
			path.Base(f.dir) == "testenv" {
			continue
		}
		files := token.NewFileSet()
		parsed := testenv.Must(parser.ParseFile(files, f.path, tr.texts[f.path],
			parser.SkipObjectResolution))
		for _, decl := range parsed.Decls {
			name := f.dir + "." + nameOf(decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				call := entryOf(n)
				if call == "" {
					return true
				}
				if _, ok := makes[name]; !ok {
					wrong = append(wrong, fmt.Sprintf("%s:%d: %s calls %s, which enters the Go "+
						"scheduler, and is not on the list of those that may",
						f.path, files.Position(n.Pos()).Line, name, call))
				} else {
					makes[name] = true
				}
				return true
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(makes)) {
		if !makes[name] {
			wrong = append(wrong, name+" makes none of the calls that enter the Go scheduler; "+
				"take it off the list")
		}
	}
	return wrong
}

// entryOf returns package.Function if n is a call that enters the scheduler.
func entryOf(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	of, ok := f.X.(*ast.Ident)
	if !ok {
		return ""
	}
	switch of.Name {
	case "unix", "syscall":
		if unlisted[f.Sel.Name] {
			return ""
		}
	case "sysx":
		if !entering[f.Sel.Name] {
			return ""
		}
	default:
		return ""
	}
	return of.Name + "." + f.Sel.Name
}

// nameOf names a declaration: Receiver.Function, Function, or its first
// variable.
func nameOf(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		var of string
		ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && of == "" {
				of = name.Name // in front of any type parameters
			}
			return true
		})
		return of + "." + d.Name.Name
	case *ast.GenDecl:
		if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
			return v.Names[0].Name
		}
	}
	return "?"
}

// TestStartsAreChecked: code that people copy checks the error of starting a
// coroutine. Where it was ignored, a connection whose coroutine could not be
// started (Options.MaxCoroutines) stayed open for good.
func TestStartsAreChecked(t *testing.T) {
	fsys, _, _ := read(t)
	report(t, startsChecked(t, fsys))
}

// TestStartsRule: the rule finds what it is for.
func TestStartsRule(t *testing.T) {
	const code = "package main\n\nfunc main() {\n\tnetco.Go(f)\n\tif _, err := " +
		"netco.GoWith(netco.Spawn{}); err != nil {\n\t}\n\tx.s.GoWith(sp)\n\tgroup.Go(f)\n}\n"
	wrong := startsChecked(t, fstest.MapFS{
		"examples/a/main.go":    {Data: []byte(code)},
		"cmd/a/main.go":         {Data: []byte(code)},
		"a/example_test.go":     {Data: []byte(code)},
		"a/b_example_x_test.go": {Data: []byte(code)},
		"a/a_test.go":           {Data: []byte(code)},
		"a/doc.go":              {Data: []byte("// Package a\n//\n//\tnetco.Go(f)\npackage a\n")},
		"README.md": {Data: []byte("\tnetco.Go(f)\n`netco.Go(f)` starts " +
			"f:\n+\tnetco.Go(f)\n")},
	})
	got := strings.Join(wrong, "\n")
	want := strings.Join([]string{"README.md:1", "README.md:3", "a/b_example_x_test.go:4",
		"a/b_example_x_test.go:7", "a/doc.go:3", "a/example_test.go:4", "a/example_test.go:7",
		"cmd/a/main.go:4", "cmd/a/main.go:7", "examples/a/main.go:4", "examples/a/main.go:7"},
		": the error of starting a coroutine is ignored\n") +
		": the error of starting a coroutine is ignored"
	testenv.Equal(t, got, want)
}

// snippet is a bare call in a page or a comment, at the beginning of a line
// but for what marks the line.
var snippet = regexp.MustCompile(`^(//|[+])?\s+netco\.Go[A-Za-z]*\(`)

// startsChecked looks at all that people copy: examples, programs, pages, and
// what stands indented in comments.
func startsChecked(t *testing.T, fsys fs.FS) (wrong []string) {
	bad := func(file string, line int) {
		wrong = append(wrong, fmt.Sprintf("%s:%d: the error of starting a coroutine is ignored",
			file, line))
	}
	testenv.OK(t, fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(name); name != "." && (base[0] == '.' || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		isGo, isPage := strings.HasSuffix(name, ".go"), strings.HasSuffix(name, ".md")
		if !isGo && !isPage {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if snippet.MatchString(line) && (isPage || strings.HasPrefix(line, "//")) {
				bad(name, i+1)
			}
		}
		if !isGo || !copied(name) {
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.ExprStmt); ok && starts(s.X) {
				bad(name, files.Position(s.Pos()).Line)
			}
			return true
		})
		return nil
	}))
	return wrong
}

// copied reports whether a file is one of those that people copy from.
func copied(name string) bool {
	test := strings.HasSuffix(name, "_test.go")
	program := strings.HasPrefix(name, "examples/") || strings.HasPrefix(name, "cmd/")
	return program && !test || test && strings.Contains(path.Base(name), "example")
}

// starts reports whether x is a call that starts a coroutine and may refuse:
// one of package netco's, or a Scheduler's GoWith. Other things have a Go.
func starts(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(f.Sel.Name, "Go") {
		return false
	}
	if of, ok := f.X.(*ast.Ident); ok && of.Name == "netco" {
		return true
	}
	return f.Sel.Name == "GoWith"
}
