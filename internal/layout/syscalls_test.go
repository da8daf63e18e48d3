package layout

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
)

// entries are the functions that make such calls, as folder.Receiver.Function,
// by the reason why they may.
var entries = map[string]string{
	"the caller is pinned": `
		internal/sysx.CloseStream internal/sysx.StartConnect internal/sysx.exchange
		internal/sysx.TryRecvPacket internal/sysx.TrySendPacket
		internal/sysx.raceReceived internal/sysx.raceSending
	`,
	"it touches nothing of the owner's, and those who call it are on this list themselves": `
		internal/sysx.CloseFD internal/sysx.EnableBarriers
		internal/sysx.TryPoll internal/sysx.Recvmsg internal/sysx.Sendmsg internal/sysx.TrySendfile
		internal/sysx.Wait internal/sysx.blockedWait internal/sysx.fileIO
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
		socket.AdoptSocket socket.Dialer.connect socket.Dialer.dialTCP socket.ListenConfig.takeTCPListener
		socket.NewFile socket.Socket.Accept socket.Socket.Bind socket.Socket.Getpeername socket.Socket.Getsockname
		socket.Socket.GetsockoptInt socket.Socket.Listen socket.Socket.SetsockoptInt socket.Socket.Shutdown
		socket.TCPConn.MultipathTCP socket.TCPConn.SetLinger socket.gsoMissing
		socket.duplicate socket.conn.shutdown
		internal/fd.Descriptor.close socket.isRegular socket.kernelNetwork
		socket.listens internal/fd.pollNow internal/fd.pipeFDs.close internal/fd.pollWait.close socket.pollable
		socket.removeFile socket.reusePort socket.setDefaults socket.setKeepAlive socket.setSeconds
		socket.endpoints.file internal/fd.FD.SetInt socket.zoneIndex
	`,
	"no coroutine comes there: a loop, or a goroutine of the library's": `
		channel.enableBarriers epoller.Epoller.Wait epoller.Epoller.WaitLong
		epoller.Epoller.Close epoller.Open
		processor.Group.StartMonitor processor.PollDesc.waitByPoll processor.ThreadCPUNs processor.pollWait.poll
		timer.FD.Close
	`,
	"no look stands before it: it writes one eventfd and returns": `
		processor.pollWait.Woken
	`,
	"at the start of the process, or in a bubble, where no coroutines are": `
		internal/clock.kernelNow
	`,
}

// unlisted are functions of packages unix and syscall that do not enter the
// scheduler: raw calls, and what makes no call at all.
var unlisted = map[string]bool{
	"CmsgLen": true, "CmsgSpace": true, "EpollCreate1": true, "EpollCtl": true, "Errno": true,
	"Gettid": true, "NewIfreq": true, "NsecToTimespec": true,
	"ParseOneSocketControlMessage": true, "Pipe2": true,
	"RawSyscall": true, "RawSyscall6": true, "SchedGetaffinity": true, "SchedSetaffinity": true,
	"Socket":        true,
	"TimerfdCreate": true, "TimerfdSettime": true,
}

// entering are functions of internal/sysx that do enter it and are not pinned.
var entering = map[string]bool{
	"CloseFD": true, "EnableBarriers": true, "Read": true,
	"Recvmsg": true, "Sendmsg": true, "TryPoll": true, "TrySendfile": true, "Wait": true,
	"WaitLong": true, "Write": true,
}

// callsListed: a coroutine may be left behind in a system call that enters the
// Go scheduler. So each place of the library that makes one is listed, once,
// with why nothing of its Processor's owner is in hand there; see
// coroutine/handoff.go, the rule.
func callsListed(s *source) (wrong []string) {
	makes := map[string]bool{}
	for _, names := range s.entries {
		for _, name := range strings.Fields(names) {
			if _, twice := makes[name]; twice {
				wrong = append(wrong, name+" is listed twice")
			}
			makes[name] = false
		}
	}
	for _, f := range s.files {
		if top, _, _ := strings.Cut(f.dir, "/"); f.isTest() || top == "cmd" || top == "examples" ||
			path.Base(f.dir) == "testenv" {
			continue
		}
		for _, decl := range f.Decls {
			name := f.dir + "." + nameOf(decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				call := entryOf(n)
				if call == "" {
					return true
				}
				if _, ok := makes[name]; !ok {
					wrong = append(wrong, fmt.Sprintf("%s:%d: %s calls %s, which enters the Go "+
						"scheduler, and is not on the list of those that may",
						f.path, s.lineOf(n.Pos()), name, call))
				} else {
					makes[name] = true
				}
				return true
			})
		}
	}
	for name, does := range makes {
		if !does {
			wrong = append(wrong, name+" makes none of the calls that enter the Go scheduler; "+
				"take it off the list")
		}
	}
	return wrong
}

// selected returns package and name if n is a call of what a package or
// variable has.
func selected(n ast.Node) (of, name string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", ""
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if of, ok := f.X.(*ast.Ident); ok {
		return of.Name, f.Sel.Name
	}
	return "", f.Sel.Name
}

// entryOf returns package.Function if n is a call that enters the scheduler.
func entryOf(n ast.Node) string {
	of, name := selected(n)
	switch {
	case (of == "unix" || of == "syscall") && !unlisted[name], of == "sysx" && entering[name],
		of == "goruntime" && name == "EnterBlocked":
		return of + "." + name
	}
	return ""
}

// snippet is a bare call in a page or a comment, at the beginning of a line
// but for what marks the line.
var snippet = regexp.MustCompile(`^(//|[+])?\s+netco\.Go[A-Za-z]*\(`)

// startsChecked: code that people copy checks the error of starting a
// coroutine. Where it was ignored, a connection whose coroutine could not be
// started (Options.MaxCoroutines) stayed open for good. It looks at examples,
// programs, pages, and what stands indented in comments.
func startsChecked(s *source) (wrong []string) {
	bad := func(file string, line int) {
		wrong = append(wrong, fmt.Sprintf("%s:%d: the error of starting a coroutine is ignored",
			file, line))
	}
	for p, text := range s.all.texts {
		for i, line := range strings.Split(text, "\n") {
			if (path.Ext(p) == ".md" || strings.HasPrefix(line, "//")) &&
				snippet.MatchString(line) {
				bad(p, i+1)
			}
		}
	}
	for _, f := range s.all.files {
		if !f.isCopied() {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if x, ok := n.(*ast.ExprStmt); ok && starts(x.X) {
				bad(f.path, s.lineOf(x.Pos()))
			}
			return true
		})
	}
	return wrong
}

// isCopied reports whether a file is one of those that people copy from.
func (f *goFile) isCopied() bool {
	program := strings.HasPrefix(f.path, "examples/") || strings.HasPrefix(f.path, "cmd/")
	return program && !f.isTest() || f.isTest() && strings.Contains(path.Base(f.path), "example")
}

// starts reports whether x is a call that starts a coroutine and may refuse:
// one of package netco's, or a Scheduler's GoWith. Other things have a Go.
func starts(x ast.Expr) bool {
	of, name := selected(x)
	return name == "GoWith" || of == "netco" && strings.HasPrefix(name, "Go")
}
