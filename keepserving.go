package netco

import (
	"fmt"
	"os"

	"go.uber.org/zap"

	"github.com/netco-go/netco/processor"
)

// KeepServing is an Options.OnPanic with which a panic ends its own coroutine
// and nothing else:
//
//	netco.Start(netco.Options{OnPanic: netco.KeepServing, Logger: l})
//
// The Scheduler logs the panic with its stack, and counts it
// (coroutine.Stats.Panics), before it calls OnPanic; without a Logger that
// takes errors KeepServing writes it to stderr. Deferred calls have run by
// then, so connections are closed that are closed by defer; those of a Server
// it closes itself, and calls Closed.
//
// What the coroutine has left behind stays so: a lock that is not unlocked by
// defer stays locked, a Buffer not released by defer stays in use, and what it
// was in the middle of changing is half changed. So lock and defer Unlock, or
// let panics end the program, which is the default.
func KeepServing(p PanicInfo) {
	if processor.CurrentLogger().Core().Enabled(zap.ErrorLevel) {
		return
	}
	name := ""
	if p.Name != "" {
		name = fmt.Sprintf(" %q", p.Name)
	}
	fmt.Fprintf(os.Stderr, "netco: panic in coroutine %d%s on processor %d: %v\n\n%s\n",
		p.Coroutine, name, p.Processor, p.Value, p.Stack)
}
