package vet

import (
	"cmp"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// What is known of netco and of the standard library is in tables, and neither
// is analysed: what they do inside is not a program's mistake.

// module is netco's path.
const module = "github.com/netco-go/netco"

// library returns a package's folder in netco, "." for its root, if path is one
// of netco's packages and not one of its programs.
func library(path string) (folder string, ok bool) {
	if path == module {
		return ".", true
	}
	folder, ok = strings.CutPrefix(path, module+"/")
	if !ok {
		return "", false
	}
	switch top, _, _ := strings.Cut(folder, "/"); top {
	case "cmd", "examples", "interop", "bench":
		return "", false
	}
	return folder, true
}

// funcKey names a function: "time.Sleep", "net.TCPConn.Read"; netco's have the
// folder for a path: "./Go", "sync/WaitGroup.Go".
func funcKey(f *types.Func) string {
	if f.Pkg() == nil {
		return f.Name()
	}
	name := f.Name()
	if recv := f.Type().(*types.Signature).Recv(); recv != nil {
		if n := named(recv.Type()); n != nil {
			name = n.Obj().Name() + "." + name
		}
	}
	if folder, ok := library(f.Pkg().Path()); ok {
		return folder + "/" + name
	}
	return f.Pkg().Path() + "." + name
}

// named returns the type that t is, or points to.
func named(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}

// startArgs are the functions that run one of their arguments, by its index, as
// a coroutine.
var startArgs = map[string]int{
	"./Run": 0, "./Main": 0, "./Go": 0, "./AfterFunc": 1, "./EventLoop": 1, "./Serve": 1,
	"scheduler/Scheduler.Go": 0, "scheduler/Scheduler.EventLoop": 0,
	"sync/Async": 0,
}

// spawnArgs are those that do so if a coroutine calls them, and else run it as a
// goroutine.
var spawnArgs = map[string]int{
	"sync/WaitGroup.Go": 0, "errgroup/Group.Go": 0, "errgroup/Group.TryGo": 0,
}

// startFields are the fields whose functions run on coroutines, by the folder of
// their struct.
var startFields = map[string][]string{
	"socket":    {"Handle", "Opened", "Closed"},
	"coroutine": {"Fn"}, // of Spawn
}

// callArgs are the functions that call one of their arguments, by its index,
// before they return. A Fiber runs where it is resumed, which is mostly where
// it was made.
var callArgs = map[string]int{
	"./Shield": 0, "sync/Once.Do": 0, "fiber/New": 0, "sync.Once.Do": 0,
}

// callers are packages of the standard library that call all functions that
// they are given before they return.
var callers = map[string]bool{
	"sort": true, "slices": true, "maps": true, "strings": true, "bytes": true,
}

// refusing are the functions that start a coroutine, and return an error if
// they did not.
var refusing = map[string]bool{
	"./Go": true, "./GoWith": true,
	"scheduler/Scheduler.Go": true, "scheduler/Scheduler.GoWith": true,
}

// waitNames are beginnings of the names of netco's functions that park, by
// folder.
var waitNames = map[string][]string{
	".":         {"Sleep", "Yield", "Dial", "Serve"},
	"coroutine": {"Join", "Yield"},
	"channel":   {"Send", "Recv", "Select"},
	"sync":      {"Lock", "RLock", "Wait", "Acquire", "Get"},
	"errgroup":  {"Wait"},
	"blocking":  {"Do", "Call"},
	"socket": {
		"Read", "Write", "Accept", "Dial", "Flush", "Peek", "Discard", "Lookup", "Wait",
		"Connect", "Poll",
	},
	"net":    {"Dial", "Lookup", "Resolve"},
	"tls":    {"Dial", "Read", "Write", "Handshake", "Accept"},
	"outbox": {"Send", "Close"},

	"net/http": {
		"Get", "Head", "Post", "Do", "RoundTrip", "Serve", "ListenAndServe", "Shutdown",
	},
}

// waits describes the wait of a call, or is "" if the function is not known to
// wait as a coroutine should. A connection of package net's interfaces may be
// netco's.
func waits(f *types.Func) string {
	if f.Pkg() == nil {
		return ""
	}
	if folder, ok := library(f.Pkg().Path()); ok {
		if hasPrefix(f.Name(), waitNames[folder]...) && !strings.HasSuffix(f.Name(), "Case") {
			return f.Pkg().Name() + "." + shortName(f)
		}
		return ""
	}
	if ofInterface(f) {
		return shortName(f)
	}
	return ""
}

// ofInterface reports whether f is a method of package net's interfaces that
// waits.
func ofInterface(f *types.Func) bool {
	switch funcKey(f) {
	case "net.Conn.Read", "net.Conn.Write", "net.Listener.Accept",
		"net.PacketConn.ReadFrom", "net.PacketConn.WriteTo":
		return true
	}
	return false
}

// shortName is a function's name with its receiver's.
func shortName(f *types.Func) string {
	if recv := f.Type().(*types.Signature).Recv(); recv != nil {
		if n := named(recv.Type()); n != nil {
			return n.Obj().Name() + "." + f.Name()
		}
	}
	return f.Name()
}

// finding is a rule with its words: what happens, and what to do instead.
type finding struct {
	rule, what, cure string
}

const (
	cureBlocking = "call it by blocking.Call"
	cureNet      = "use netco.Listen and netco.Dial, or change the import to netco/net"
	cureTLS      = "import netco/tls"
	cureHTTP     = "import netco/net/http, or use its Transport"
	cureServer   = "import netco/net/http"
	cureChannel  = "use channel.Make of netco/channel"
)

// blocks returns what a call of the standard library's costs in a coroutine.
func blocks(f *types.Func) (finding, bool) {
	if f.Pkg() == nil {
		return finding{}, false
	}
	key := funcKey(f)
	if known, ok := blockers[key]; ok {
		known.what = cmp.Or(known.what, key)
		return known, true
	}
	name := shortName(f)
	if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		return finding{}, false // whose connection it is: see provenance.go
	}
	for _, b := range families {
		if b.path == f.Pkg().Path() && b.names.MatchString(name) {
			return finding{b.rule, key, b.cure}, true
		}
	}
	return finding{}, false
}

// families are functions of the standard library by patterns of their names with
// their receivers'. A net.Buffers writes to whatever it is given, and a read of
// it is one of memory.
var families = []struct {
	path       string
	names      *regexp.Regexp
	rule, cure string
}{
	{"net", regexp.MustCompile(`^(\w+\.)?(Dial|Lookup|Accept)|^([^B]\w*\.)?(Read|Write)`), "net",
		cureNet},
	{"crypto/tls", regexp.MustCompile(`^(\w+\.)?Dial`), "tls", cureTLS},
	{"net/http", regexp.MustCompile(`^(Client\.)?(Get|Head|Post|PostForm)$|^Client\.Do$|` +
		`^Transport\.RoundTrip$`), "http", cureHTTP},
	{"net/http", regexp.MustCompile(`^(Server\.)?(ListenAndServe(TLS)?|Serve(TLS)?)$|` +
		`^Server\.Shutdown$`), "http", cureServer},
	{"database/sql", regexp.MustCompile(`^(\w+\.)?(Query|Exec|Prepare|Ping|Begin|Commit|Rollback|` +
		`Next)|^Row\.Scan$|^DB\.Conn$`), "sql", cureBlocking},
	{"os/exec", regexp.MustCompile(`^(\w+\.)?(Run|Wait|Output|CombinedOutput)$`), "exec",
		cureBlocking},
}

const (
	xErrgroup = "golang.org/x/sync/errgroup.Group"
	xLimiter  = "golang.org/x/time/rate.Limiter"
	cureRate  = "use Limiter.ReserveN, and netco.Sleep for the Delay of what it returns"
)

// blockers are functions of the standard library, x/sync and x/time, by
// funcKey.
var blockers = map[string]finding{
	"time.Sleep":          {"time", "", "use netco.Sleep"},
	"sync.Cond.Wait":      {"sync", "", "import netco/sync"},
	"sync.WaitGroup.Wait": {"sync", "", "import netco/sync"},
	"sync.WaitGroup.Go":   {"sync", "", "import netco/sync"},
	xErrgroup + ".Go":     {"sync", "errgroup.Group.Go", "import netco/errgroup"},
	xErrgroup + ".TryGo":  {"sync", "errgroup.Group.TryGo", "import netco/errgroup"},
	xErrgroup + ".Wait":   {"sync", "errgroup.Group.Wait", "import netco/errgroup"},
	xLimiter + ".Wait":    {"time", "rate.Limiter.Wait", cureRate},
	xLimiter + ".WaitN":   {"time", "rate.Limiter.WaitN", cureRate},
	"runtime.LockOSThread": {
		"osthread", "", "do it in blocking.Do, whose function has a goroutine to itself",
	},
}

func hasPrefix(name string, begins ...string) bool {
	return slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(name, b) })
}
