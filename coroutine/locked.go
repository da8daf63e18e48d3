package coroutine

import (
	"fmt"
	"os"
	"strings"

	"github.com/netco-go/netco/asm"
)

// locksKnown says whether a coroutine's thread locks can be compared with its
// loop's, which takes a nanosecond.
var locksKnown = asm.LocksKnown()

// checkLocks names on stderr a coroutine that gives up the thread under other
// thread locks than its loop's: the runtime is about to end the program for
// that. doing names the operation.
func (co *Coroutine) checkLocks(ex *Executor, doing string) {
	if !locksKnown {
		return
	}
	if _, locks := asm.Where(); locks != ex.locks {
		co.sayLocked(doing)
	}
}

func (co *Coroutine) sayLocked(doing string) {
	os.Stderr.WriteString("netco: " + co.title() + " " + doing +
		" while it holds runtime.LockOSThread, or is in a call from C;" +
		" the Go runtime cannot switch to another then and ends the program." +
		" Do such work by package blocking.\n")
}

// title describes the coroutine for people: its number, name and site.
func (co *Coroutine) title() string {
	var b strings.Builder
	fmt.Fprintf(&b, "coroutine %d", co.ID())
	if name := co.Name(); name != "" {
		fmt.Fprintf(&b, " %q", name)
	}
	if file, line := co.Site(); file != "" {
		fmt.Fprintf(&b, " created at %s:%d", file, line)
	}
	return b.String()
}
