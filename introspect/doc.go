// Package introspect shows what a Scheduler is doing, live, as pages for a
// browser and as JSON: its Processors, every coroutine and the reason of its
// wait, sockets, requests, timers, stalls, and whether there is a deadlock. It
// stands beside net/http/pprof:
//
//	mux := http.NewServeMux()
//	mux.Handle("/debug/netco/", introspect.New(s, introspect.Options{}))
//	go http.ListenAndServe("127.0.0.1:6060", mux)
//
// # Security
//
// The pages show addresses, names and stacks to whoever can reach them, and
// have no login: bind them to loopback or to a network of the operators' own,
// or put a handler that authenticates clients in front of them. They only show,
// unless [Options] allow more; a change by a browser is accepted only from one
// of these pages. They answer as localhost, under a numeric address and under
// the names of Options.Hosts, which keeps foreign sites from reading them by
// DNS rebinding; [CheckHost] does so for other handlers beside them. All texts
// are cut and escaped, and a page fetches nothing from elsewhere.
//
// # Cost
//
// Nothing runs between requests. A request takes no lock that a Processor takes
// and stops nothing; it reads counters that each Processor keeps in any case,
// on an ordinary goroutine, so the pages answer also while Processors are
// stalled. A page about coroutines or sockets walks over all of them once.
// Requests that come meanwhile share the next walk, which begins after a rest
// of four times the length of the last. A walk ends after five seconds: the
// answer's field partial is then set. The size of a page is bounded by its
// rows, however many coroutines there are. Only a coroutine's stack takes time
// of its Processor.
//
// # Pages
//
// Each page is JSON too: at its name with .json, or with format=json.
// docs/PAGES.md has the fields, which keep their names.
//
//	page          parameters
//	"", overview
//	coroutines    name, site: contained; state, reason, processor;
//	              age: at least, such as 10s; group: name, site, state,
//	              reason or processor, to count instead of listing
//	coroutine     id; stack=1 to ask for its stack
//	sockets       address: contained; network: its beginning; kind;
//	              waits: any, read, write or none; processor
//	requests
//	timers
//	stalls        processor, cause
//	loglevel      GET; PUT of the same JSON
//	stop          POST of a form with id; redirects
//
// Lists take sort, which is a column's name, with a minus for the largest
// first: id, name, state, reason, age, site, processor; fd, kind, network,
// local, remote, processor, read, write. And rows, up to 1000, and after or
// before, which are the answer's next or prev. A page of a list is found by its
// neighbour's last row and not by a number. So a reader of all pages misses no
// row that was there all the time, and sees none twice.
//
// Every page takes refresh, in seconds, after which a browser loads it again.
//
// Errors have a status and JSON of their own: 400 for a wrong parameter, 403
// for an action that Options do not allow, 404 for a page or coroutine that
// does not exist, 405, and 503 with Retry-After when too many requests come at
// once.
//
// # Deadlock
//
// A deadlock is reported when every Processor sleeps, nothing is ready or on
// its way, no timer is set, no idle connection is watched, and each coroutine
// that lives waits for a lock, a channel, a condition, a semaphore, a group, a
// future or the end of another; and when none has run between two such looks.
// An ordinary goroutine, or a coroutine of another Scheduler, may still wake
// them: the pages do not see that.
//
// A deadlock of some coroutines is reported when each of them waits, without a
// limit, for a lock that the next one is known to hold, and the last for a lock
// of the first.
package introspect
