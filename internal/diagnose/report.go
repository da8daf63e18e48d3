package diagnose

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/stacks"
)

// Where no logger is set, what a programmer should know is written to stderr:
// the first stall and the first handoff of each cause and place, a deadlock,
// and what a forced end has cut.

// maxReports is how many a process writes.
const maxReports = 10

// reportVariable is the environment variable that says what is written: "off"
// is nothing, "all" is every stall, handoff and deadlock.
const reportVariable = "NETCO_REPORT"

// pages is where the docs are.
const pages = "https://github.com/netco-go/netco/blob/main/docs/"

// reports are those of the process.
var reports = &reporter{out: os.Stderr, mode: os.Getenv(reportVariable)}

// reporter writes reports, each by one call.
type reporter struct {
	out  io.Writer
	mode string // of reportVariable

	mu    sync.Mutex
	seen  map[string]bool // causes and places
	begun int             // reports that are written, or about to be

	writing sync.Mutex
	written int // under writing
}

// wants reports whether one with this cause and place is to be written now, and
// notes that it is.
func (r *reporter) wants(key string) bool {
	if r.mode == "off" {
		return false
	}
	if r.mode == "all" {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[key] || r.begun == maxReports {
		return false
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[key] = true
	r.begun++
	return true
}

// write writes a report if one with this key is wanted. text is called only
// then. Of several at a time the one that is written last says that it is.
func (r *reporter) write(key string, text func() string) {
	if !r.wants(key) {
		return
	}
	all := "netco: " + strings.TrimSuffix(text(), "\n") + "\n"
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.written++; r.written == maxReports && r.mode != "all" {
		all += fmt.Sprintf("netco: that was report %d, the last one; Scheduler.Stalls, "+
			"Scheduler.Handoffs and the live page (package introspect) have the rest, and "+
			"%s=all writes them\n", maxReports, reportVariable)
	}
	io.WriteString(r.out, all) // an error could not be reported
}

// forced writes which coroutines are ended by force. It does not count.
func (r *reporter) forced(some []string, all int) {
	if r.mode == "off" {
		return
	}
	var text strings.Builder
	for _, one := range some {
		fmt.Fprintf(&text, "netco: ended by force: coroutine %s\n", one)
	}
	if more := all - len(some); more > 0 {
		fmt.Fprintf(&text, "netco: ended by force: %d more\n", more)
	}
	io.WriteString(r.out, text.String())
}

// cures say what to write instead of what blocks outside netco.
var cures = map[string]string{
	CauseChannel: "netco's channels: channel.Make, Send, Recv and channel.Select;" +
		" a goroutine may be at the other end." +
		" For a context, sync.Wait of netco/sync",
	CauseMutex: "package netco/sync in place of sync where a lock is held across a wait",
	CauseWait:  "package netco/sync in place of sync",
	CauseSleep: "netco.Sleep, netco.AfterFunc or netco.NewTicker",
	CauseIO: "package netco/net in place of net, socket.File for pipes;" +
		" or package blocking",
	CauseSyscall:     "blocking.Do or blocking.Call",
	CauseCgo:         "blocking.Do or blocking.Call",
	CauseComputation: "netco.Yield once in a while, or blocking.Do",
}

// waits say in words what blocks.
var waits = map[string]string{
	CauseChannel: "waits for a Go channel or select",
	CauseMutex:   "waits for a lock of package sync",
	CauseWait:    "waits for a sync.WaitGroup or sync.Cond",
	CauseSleep:   "is in time.Sleep",
	CauseIO:      "waits for a connection or file of package net or os",
	CauseSyscall: "is in a system call",
	CauseCgo:     "is in a call of C",

	CauseComputation: "computes without a pause",
}

// blocked is the text of a report about a coroutine that holds a thread.
type blocked struct {
	cause  string
	who    string
	frames []runtime.Frame // innermost first
	effect string
}

func (b *blocked) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s", b.who, waits[b.cause])
	if at := stacks.BlockedAt(b.frames); at.Function != "" {
		fmt.Fprintf(&text, ", at %s", place(at.File, at.Line, at.Function))
	}
	fmt.Fprintf(&text, ".\n\t%s\n\tInstead: %s.\n", b.effect, cures[b.cause])
	for _, f := range userFrames(b.frames) {
		fmt.Fprintf(&text, "\t\t%s\n", place(f.File, f.Line, f.Function))
	}
	fmt.Fprintf(&text, "\t%sLIMITS.md#blocking-calls\n", pages)
	return text.String()
}

// maxFrames is how many calls a report shows.
const maxFrames = 8

// userFrames returns those of a stack that are neither the standard library's
// nor netco's, maxFrames at most.
func userFrames(frames []runtime.Frame) (some []runtime.Frame) {
	for _, f := range frames {
		if f.File != "" && !isOwn(f.Function) && !stacks.Standard(f.Function) &&
			len(some) < maxFrames {
			some = append(some, f)
		}
	}
	return some
}

// isOwn reports whether a function is netco's.
func isOwn(function string) bool {
	root, _ := strings.CutSuffix(module, "/")
	return strings.HasPrefix(function, module) || strings.HasPrefix(function, root+".")
}

// place is a call in words. The file's directory is in the function's name
// already.
func place(file string, line int, function string) string {
	if file != "" {
		file = filepath.Base(file)
	}
	return site(file, line, function)
}

// title says which coroutine it is.
func title(id uint64, name string) string {
	text := "coroutine " + named(id, name)
	info, ok := coroutine.Find(id)
	if !ok {
		return text
	}
	info.Resolve()
	if at := place(info.File, info.Line, info.Func); at != "" {
		text += " (made at " + at + ")"
	}
	return text
}

// withinNetco reports whether the innermost call that is not the standard
// library's is netco's: it makes a system call, say, which took long.
func withinNetco(frames []runtime.Frame) bool {
	for _, f := range frames {
		if isOwn(f.Function) || !stacks.Standard(f.Function) {
			return isOwn(f.Function)
		}
	}
	return false
}

// library returns the calls of the standard library that the user's innermost
// call has led to, innermost first.
func library(frames []runtime.Frame) []runtime.Frame {
	n := slices.IndexFunc(frames, func(f runtime.Frame) bool {
		return !stacks.Standard(f.Function)
	})
	if n < 0 {
		return frames
	}
	return frames[:n]
}

// inNet reports whether a call of package net blocks, whatever that waits for
// inside.
func inNet(frames []runtime.Frame) bool {
	return slices.ContainsFunc(library(frames), func(f runtime.Frame) bool {
		return strings.HasPrefix(f.Function, "net.")
	})
}

// onUsersLock reports whether user code has taken the lock that a call waits
// for; false for one of the standard library's own.
func onUsersLock(frames []runtime.Frame) bool {
	calls := library(frames)
	return len(calls) == 0 || strings.HasPrefix(calls[len(calls)-1].Function, "sync.")
}

// causeToReport returns what a user is to read of a handoff, of which there
// were so many with that cause at that place; "" for nothing.
func causeToReport(cause string, count uint64, frames []runtime.Frame) string {
	switch {
	case waits[cause] == "" || withinNetco(frames):
		return "" // it was over before its cause was found, or is no user's to change
	case cause == CauseMutex && !onUsersLock(frames) && count < 2:
		return "" // the library holds its locks shortly, unless a holder is not scheduled
	case inNet(frames):
		return CauseIO
	case cause == CauseSyscall && count < 2:
		return "" // a short one, in which the thread was not scheduled for a while
	}
	return cause
}

// reportHandoff reports a handoff, the first of its cause and place. false
// means that there is nothing to report so far.
func reportHandoff(h Handoff, frames []runtime.Frame) bool {
	if h.Cause = causeToReport(h.Cause, h.Count, frames); h.Cause == "" {
		return false
	}
	reports.write(h.Cause+" "+h.BlockedAt, func() string {
		b := blocked{cause: h.Cause, who: title(h.Coroutine, h.Name), frames: frames,
			effect: "Its thread's other coroutines stood still for some milliseconds," +
				" then went on on another thread;" +
				" that happens each time."}
		return b.String()
	})
	return true
}

// A coroutine that was left behind may block elsewhere before it comes back to
// netco, or for longer than was worth a report: no handoff follows then. So it
// is looked at again, after lookAgainAfter, twice that time, and so on up to
// lookAgainFor. What it blocks in at two of these times is no short wait.
const (
	lookAgainAfter = 50 * time.Millisecond
	lookAgainFor   = time.Second
	maxLookAgain   = 16 // coroutines at a time; what is left out shows up later
)

// lookingAgain counts the coroutines that are to be looked at again.
var lookingAgain atomic.Int64

// reportLasting looks at a coroutine again after that time. It was blocked in
// before, which has been reported or not.
func reportLasting(left *coroutine.LeftBehind, before coroutine.Stack, reported bool,
	after time.Duration) {
	if lookingAgain.Add(1) > maxLookAgain {
		lookingAgain.Add(-1)
		return
	}
	time.AfterFunc(after, func() {
		lookingAgain.Add(-1)
		stack, away := left.Again()
		if !away {
			return
		}
		switch {
		case stack != before:
			reported = false
		case !reported:
			frames := stack.Frames()
			h := Handoff{Coroutine: left.ID, Name: left.Name, Count: 2}
			h.Cause, h.Detail, h.BlockedAt = causeOfHandoff(frames)
			reported = reportHandoff(h, frames)
		}
		if 2*after <= lookAgainFor {
			reportLasting(left, stack, reported, 2*after)
		}
	})
}

// reportStall reports a stall, the first of its cause and function.
func reportStall(st Stall) {
	if st.Coroutine == 0 || waits[st.Cause] == "" || strings.HasPrefix(st.Detail, manyCoroutines) {
		return // the machine's doing, or no single coroutine's
	}
	frames := framesOf(st.Stack)
	switch {
	case withinNetco(frames):
		return
	case st.Cause != CauseComputation && inNet(frames):
		st.Cause = CauseIO
	}
	reports.write("stall "+st.Cause+" "+stacks.BlockedAt(frames).Function, func() string {
		b := blocked{cause: st.Cause, who: title(st.Coroutine, st.Name), frames: frames,
			effect: fmt.Sprintf("For %v now no other coroutine of its Processor has run.",
				st.Length.Round(time.Millisecond))}
		return b.String()
	})
}

// framesOf reads the calls of a traceback.
func framesOf(stack string) (frames []runtime.Frame) {
	var f runtime.Frame
	for line := range strings.Lines(stack) {
		line = strings.TrimSuffix(line, "\n")
		at, isPlace := strings.CutPrefix(line, "\t")
		switch {
		case !isPlace:
			f.Function = line
			if end := strings.LastIndexByte(line, '('); end > 0 {
				f.Function = line[:end]
			}
		case f.Function != "" && !strings.HasPrefix(f.Function, "created by "):
			at, _, _ = strings.Cut(at, " +0x")
			colon := strings.LastIndexByte(at, ':')
			if colon < 0 {
				continue
			}
			f.File = at[:colon]
			fmt.Sscanf(at[colon+1:], "%d", &f.Line)
			frames = append(frames, f)
			f = runtime.Frame{}
		}
	}
	return frames
}
