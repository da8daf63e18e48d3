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
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/stacks"
)

// Without a logger, reports for the programmer go to stderr: the first stall
// and the first handoff of each cause and place, a deadlock, and the coroutines
// that a forced shutdown ended.

// maxReports is how many reports a process writes.
const maxReports = 10

// reportVariable is the environment variable that selects the reports: "off"
// for none, "all" for every stall, handoff and deadlock.
const reportVariable = "NETCO_REPORT"

// pages is the URL of the docs.
const pages = "https://github.com/netco-go/netco/blob/main/docs/"

// reports is the reporter of the process.
var reports = &reporter{out: os.Stderr, mode: os.Getenv(reportVariable)}

// reporter writes reports, each by one call.
type reporter struct {
	out  io.Writer
	mode string // of reportVariable

	mu    sync.Mutex
	seen  map[string]bool // causes and places
	begun int             // reports written, or about to be written

	writing sync.Mutex
	written int // under writing
}

// wants reports whether a report with this cause and place has to be written,
// and records that it is.
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

// write writes a report if wants accepts its key. It calls text only then. The
// last report that a process writes says that it is the last.
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

// forced writes which coroutines are ended by force. It does not count as one
// of maxReports.
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

// cures maps a cause to the code to write instead of a call that blocks outside
// netco.
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

// advice returns what to write instead of a call that blocks or computes: ""
// for a wait in frames within netco, which the user cannot change.
func advice(cause string, frames []runtime.Frame) string {
	if cause != CauseComputation && withinNetco(frames) {
		return ""
	}
	return cures[cause]
}

// waits describes each cause in words.
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

// reportBlocked reports h's coroutine, which holds a thread and is in frames,
// innermost first; effect says what that does to others.
func reportBlocked(key string, h Handoff, frames []runtime.Frame, effect string) {
	reports.write(key, func() string {
		var text strings.Builder
		fmt.Fprintf(&text, "%s %s", title(h.Coroutine, h.Name), waits[h.Cause])
		if at := stacks.BlockedAt(frames); at.Function != "" {
			fmt.Fprintf(&text, ", at %s", place(at.File, at.Line, at.Function))
		}
		fmt.Fprintf(&text, ".\n\t%s\n\tInstead: %s.\n", effect, cures[h.Cause])
		for _, f := range userFrames(frames) {
			fmt.Fprintf(&text, "\t\t%s\n", place(f.File, f.Line, f.Function))
		}
		fmt.Fprintf(&text, "\t%sLIMITS.md#blocking-calls\n", pages)
		return text.String()
	})
}

// maxFrames is how many calls a report shows.
const maxFrames = 8

// userFrames returns the frames of a stack that are neither the standard
// library's nor netco's, maxFrames at most.
func userFrames(frames []runtime.Frame) (some []runtime.Frame) {
	for _, f := range frames {
		if f.File != "" && !stacks.OfNetco(f) && !stacks.Standard(f.Function) &&
			len(some) < maxFrames {
			some = append(some, f)
		}
	}
	return some
}

// place describes a call in words. The function's name includes the file's
// directory already.
func place(file string, line int, function string) string {
	if file != "" {
		file = filepath.Base(file)
	}
	return site(file, line, function)
}

// title describes a coroutine by its ID and name.
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

// withinNetco reports whether the innermost call outside the standard library
// is netco's, such as a system call that took long.
func withinNetco(frames []runtime.Frame) bool {
	for _, f := range frames {
		if own := stacks.OfNetco(f); own || !stacks.Standard(f.Function) {
			return own
		}
	}
	return false
}

// library returns the calls of the standard library below the user's innermost
// call, innermost first.
func library(frames []runtime.Frame) []runtime.Frame {
	n := slices.IndexFunc(frames, func(f runtime.Frame) bool {
		return !stacks.Standard(f.Function)
	})
	if n < 0 {
		return frames
	}
	return frames[:n]
}

// inNet reports whether a call of package net blocks, whatever it waits for
// inside.
func inNet(frames []runtime.Frame) bool {
	return slices.ContainsFunc(library(frames), func(f runtime.Frame) bool {
		return strings.HasPrefix(f.Function, "net.")
	})
}

// onUsersLock reports whether a call waits for a lock of user code; false for a
// lock of the standard library.
func onUsersLock(frames []runtime.Frame) bool {
	calls := library(frames)
	return len(calls) == 0 || strings.HasPrefix(calls[len(calls)-1].Function, "sync.")
}

// causeToReport returns the cause to report for a handoff, or "" if it is not
// worth a report. count is the number of handoffs with that cause at that
// place.
func causeToReport(cause string, count uint64, frames []runtime.Frame) string {
	switch {
	case waits[cause] == "" || withinNetco(frames):
		return "" // it ended before its cause was found, or the user cannot change it
	case cause == CauseMutex && !onUsersLock(frames) && count < 2:
		return "" // the library holds its locks briefly, unless a holder is not scheduled
	case inNet(frames):
		return CauseIO
	case cause == CauseSyscall && count < 2:
		return "" // a short call during which the thread was not scheduled for a while
	}
	return cause
}

// maxReportable is how many handoffs of each cause and place may lead to a
// report. They are alike, and to resolve the stack of each would take longer
// than the handoff.
const maxReportable = 16

// reportHandoff reports the first handoff of a cause and place. It returns
// false if the handoff is not worth a report so far.
func reportHandoff(h Handoff, frames []runtime.Frame) bool {
	if h.Cause = causeToReport(h.Cause, h.Count, frames); h.Cause == "" {
		return false
	}
	reportBlocked(h.Cause+" "+h.BlockedAt, h, frames,
		"Its thread's other coroutines stood still for some milliseconds,"+
			" then went on on another thread; that happens each time.")
	return true
}

// A coroutine that was left behind may block elsewhere before it returns to
// netco, or may block so long that it becomes worth a report; no further
// handoff shows that. So its stack is read again after lookAgainAfter, twice
// that time, and so on up to lookAgainFor. A call that blocks at two of these
// times is no short wait.
const (
	lookAgainAfter = 50 * time.Millisecond
	lookAgainFor   = time.Second
)

// reportLasting reads a coroutine's stack again after a time. The coroutine was
// blocked at before; reported says whether that was reported.
func reportLasting(left *coroutine.LeftBehind, before coroutine.Stack, reported bool,
	after time.Duration) {
	time.AfterFunc(after, func() {
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

// reportStall reports the first stall of a cause and function.
func reportStall(st Stall) {
	if st.Coroutine == 0 || waits[st.Cause] == "" || strings.HasPrefix(st.Detail, manyCoroutines) {
		return // caused by the machine, or by no single coroutine
	}
	frames := framesOf(st.Stack)
	switch {
	case withinNetco(frames):
		return
	case st.Cause != CauseComputation && inNet(frames):
		st.Cause = CauseIO
	}
	reportBlocked("stall "+st.Cause+" "+stacks.BlockedAt(frames).Function,
		Handoff{Cause: st.Cause, Coroutine: st.Coroutine, Name: st.Name}, frames,
		fmt.Sprintf("For %v now no other coroutine of its Processor has run.",
			st.Length.Round(time.Millisecond)))
}

// framesOf returns the calls in the text of a traceback.
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
