package metrics

import (
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/processor"
)

// The values of the label "op", in the order that ofProcessor's functions use.
var (
	operations = []string{"read", "write", "accept", "epoll_wait"}
	onSockets  = operations[:3] // ordinary goroutines have these too
)

// ofProcessor are the metrics of each Processor. Ordinary goroutines have some
// of them too, see family.goroutines.
var ofProcessor = described([]family[*view]{
	// Coroutines.
	{name: "netco_coroutines", kind: gauge, label: "state", values: states,
		help: "Live coroutines: in the run queue, running, waiting, or left behind outside " +
			"netco. Derived from counters, so accurate to a turn's length.",
		read: func(v *view, i int) float64 { return float64(v.states[i]) }},
	{name: "netco_coroutines_not_started", kind: gauge,
		help: "Coroutines that other threads gave to a Processor and that are not in its run " +
			"queue yet.",
		read: func(v *view, _ int) float64 { return v.unlessOver(int64(v.p.Submitted())) }},
	{name: "netco_coroutines_started_total", kind: count,
		help: "Coroutines that a Processor has put into its run queue for the first time.",
		read: func(v *view, _ int) float64 { return float64(v.co.Spawned.Load()) }},
	{name: "netco_coroutines_ended_total", kind: count,
		help: "Coroutines that have ended.",
		read: func(v *view, _ int) float64 { return float64(v.co.Ended.Load()) }},
	{name: "netco_coroutines_reused_total", kind: count,
		help: "Coroutines started on the goroutine and the stack of an earlier coroutine.",
		read: func(v *view, _ int) float64 { return float64(v.co.Reused.Load()) }},
	{name: "netco_coroutines_stolen_total", kind: count,
		help: "Coroutines that an idle Processor took from another Processor before they started.",
		read: func(v *view, _ int) float64 { return float64(v.p.Stats.Stolen.Load()) }},
	{name: "netco_moved_total", kind: count,
		help: "Coroutines that have moved to this Processor from another.",
		read: func(v *view, _ int) float64 { return float64(v.p.Stats.Moved.Load()) }},
	{name: "netco_coroutine_panics_total", kind: count,
		help: "Panics of coroutines, handled by Options.OnPanic.",
		read: func(v *view, _ int) float64 { return float64(v.co.Panics.Load()) }},
	{name: "netco_goroutines", kind: gauge,
		help: "Goroutines that run coroutines, including idle ones kept for later coroutines.",
		read: func(v *view, _ int) float64 { return v.unlessOver(int64(v.co.Workers.Load())) }},
	{name: "netco_goroutines_created_total", kind: count,
		help: "Goroutines made to run coroutines.",
		read: func(v *view, _ int) float64 { return float64(v.co.Made.Load()) }},

	// Switches and turns.
	{name: "netco_resumes_total", kind: count,
		help: "Times a coroutine was resumed. Updated at the end of a turn.",
		read: func(v *view, _ int) float64 { return float64(v.resumes) }},
	{name: "netco_handoffs_total", kind: count,
		help: "Times the Processor went on without a coroutine that was blocked outside netco, " +
			"for instance in a Go channel or a file.",
		read: func(v *view, _ int) float64 { return float64(v.handoffs) }},
	{name: "netco_standbys_total", kind: count,
		help: "Runs of coroutines for which a handoff was prepared, because the same code " +
			"blocked outside netco lately.",
		read: func(v *view, _ int) float64 { return float64(v.co.Standbys.Load()) }},
	{name: "netco_turns_total", kind: count,
		help: "Turns of the loop, including turns that found nothing to run.",
		read: func(v *view, _ int) float64 { return float64(v.p.Stats.Turns.Load()) }},
	{name: "netco_turn_duration_seconds",
		help: "Length of the turns that ran something.",
		hist: func(v *view) counter.HistogramSnapshot { return v.p.Stats.TurnNs.Snapshot() }},
	{name: "netco_wait_duration_seconds",
		help: "How long an event, a wake or a start waited until its coroutine ran, estimated " +
			"from the turns.",
		hist: func(v *view) counter.HistogramSnapshot { return v.p.Stats.WaitNs.Snapshot() }},
	{name: "netco_turn_age_seconds", kind: gauge,
		help: "Time since the current turn began; 0 while no coroutine runs.",
		read: func(v *view, _ int) float64 { return seconds(v.turnAgeNs) }},
	{name: "netco_run_queue_length", kind: gauge,
		help: "Coroutines that were ready to run when the last turn began.",
		read: func(v *view, _ int) float64 { return v.unlessOver(int64(v.p.Stats.Queued.Load())) }},
	{name: "netco_inbox_depth", kind: gauge,
		help: "Wakes from other threads that the Processor has not handled yet.",
		read: func(v *view, _ int) float64 { return v.unlessOver(int64(v.p.InboxDepth())) }},
	{name: "netco_remote_wakes_total", kind: count,
		help: "Coroutines woken by other threads.",
		read: func(v *view, _ int) float64 { return float64(v.p.Stats.RemoteWakes.Load()) }},
	{name: "netco_bell_rings_total", kind: count,
		help: "Times another thread had to wake the Processor from its sleep by writing an " +
			"eventfd.",
		read: func(v *view, _ int) float64 { return float64(v.ep.Rings.Load()) }},
	{name: "netco_sleeps_total", kind: count,
		help: "Times the Processor blocked in epoll.",
		read: func(v *view, _ int) float64 { return float64(v.p.Stats.Sleeps.Load()) }},
	{name: "netco_processor_seconds_total", kind: count, label: "state",
		values: []string{"busy", "idle", "spinning"},
		help: "Time since the Processor's start: busy, blocked in epoll, or polling for events " +
			"before it blocks.",
		read: func(v *view, i int) float64 {
			return seconds([...]int64{v.busyNs, v.idleNs, v.spinNs}[i])
		}},
	{name: "netco_processor_cpu_seconds_total", kind: count,
		help: "CPU time of the Processor's own thread, as the kernel counts it. Missing for a " +
			"Processor without a thread of its own, see Options.LockThreads.",
		has:  func(v *view) bool { return v.cpuNs >= 0 },
		read: func(v *view, _ int) float64 { return seconds(v.cpuNs) }},
	{name: "netco_stalls_total", kind: count,
		help: "Turns that the watchdog saw last longer than Options.Watchdog.",
		read: func(v *view, _ int) float64 { return float64(v.s.StallCount(v.p.Index())) }},

	// Timers.
	{name: "netco_timers_pending", kind: gauge,
		help: "Timers and deadlines that were set when the last turn began.",
		read: func(v *view, _ int) float64 { return v.unlessOver(int64(v.p.Stats.Timers.Load())) }},
	{name: "netco_timers_fired_total", kind: count,
		help: "Timers and deadlines that have fired.",
		read: func(v *view, _ int) float64 { return float64(v.p.Stats.TimersFired.Load()) }},
	{name: "netco_timer_lateness_seconds",
		help: "How late timers and deadlines fired.",
		hist: func(v *view) counter.HistogramSnapshot { return v.p.Stats.LateNs.Snapshot() }},

	// Sockets.
	{name: "netco_io_events_total", kind: count,
		help: "Events of fds that epoll has delivered.",
		read: func(v *view, _ int) float64 { return float64(v.ep.Events.Load()) }},
	{name: "netco_io_events_stale_total", kind: count,
		help: "Events dropped because their fd was closed before they came.",
		read: func(v *view, _ int) float64 { return float64(v.ep.Stale.Load()) }},
	{name: "netco_syscalls_total", kind: count, label: "op", values: operations,
		goroutines: len(onSockets),
		help:       "System calls that read, write and accept, in all their forms, and epoll_wait.",
		read: func(v *view, i int) float64 {
			if i == len(onSockets) {
				return float64(v.ep.Polls.Load() + v.ep.Waits.Load())
			}
			return float64([...]uint64{v.io.Reads, v.io.Writes, v.io.Accepts}[i])
		}},
	{name: "netco_syscalls_again_total", kind: count, label: "op", values: onSockets,
		goroutines: len(onSockets),
		help:       "System calls that ended with EAGAIN: the socket was not ready.",
		read: func(v *view, i int) float64 {
			return float64([...]uint64{v.io.ReadAgain, v.io.WriteAgain, v.io.AcceptAgain}[i])
		}},
	{name: "netco_syscalls_saved_total", kind: count, label: "op", values: []string{"read"},
		goroutines: 1,
		help:       "System calls not made because the socket was known to be empty.",
		read:       func(v *view, _ int) float64 { return float64(v.io.SavedReads) }},
	{name: "netco_received_bytes_total", kind: count, goroutines: 1,
		help: "Bytes that reads from sockets have returned.",
		read: func(v *view, _ int) float64 { return float64(v.io.BytesIn) }},
	{name: "netco_sent_bytes_total", kind: count, goroutines: 1,
		help: "Bytes that sockets have accepted from writes.",
		read: func(v *view, _ int) float64 { return float64(v.io.BytesOut) }},
	{name: "netco_connections_accepted_total", kind: count, goroutines: 1,
		help: "Connections accepted.",
		read: func(v *view, _ int) float64 { return float64(v.io.Accepted) }},
	{name: "netco_accept_errors_total", kind: count, label: "kind", values: acceptErrors(),
		goroutines: int(processor.AcceptErrorKinds),
		help: "Failed accepts, by cause: the connection itself, a lack of fds or of memory, or " +
			"another cause.",
		read: func(v *view, i int) float64 { return float64(v.io.AcceptErrors[i]) }},
	{name: "netco_idle_connections", kind: gauge,
		help: "Connections of a socket.Server that wait without a coroutine.",
		read: func(v *view, _ int) float64 { return v.unlessOver(int64(v.p.Watches())) }},
	{name: "netco_registered_fds", kind: gauge,
		help: "Fds registered with the Processor's epoll.",
		read: func(v *view, _ int) float64 { return v.unlessOver(int64(v.p.Registered())) }},

	// Memory for I/O.
	{name: "netco_buffer_bytes", kind: gauge, label: "state", values: []string{"in_use", "kept"},
		help: "Memory of the buffers that socket.AcquireBuffer lends: lent, and kept for later " +
			"use.",
		read: func(v *view, i int) float64 { return v.unlessOver(int64(v.buffers[i])) }},
	{name: "netco_buffer_waits_total", kind: count,
		help: "Times that no buffer was free within Options.BufferMemory.",
		read: func(v *view, _ int) float64 { return float64(v.p.BufferWaits()) }},
}, "processor")

// ofGoroutines are the metrics of ofProcessor that ordinary goroutines have
// too, each with only the values that ordinary goroutines have.
var ofGoroutines = func() (have []family[*view]) {
	for _, f := range ofProcessor {
		if f.goroutines > 0 {
			if f.label != "" {
				f.values = f.values[:f.goroutines]
			}
			have = append(have, f)
		}
	}
	return have
}()

func acceptErrors() (kinds []string) {
	for k := range processor.AcceptError(processor.AcceptErrorKinds) {
		kinds = append(kinds, k.String())
	}
	return kinds
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
