// Package introspect shows what a Scheduler is doing, live, as pages for a
// browser and as JSON: its Processors, every coroutine and the reason of its
// wait, sockets, requests, stalls, deadlocks. It stands beside
// net/http/pprof:
//
//	mux := http.NewServeMux()
//	mux.Handle("/debug/netco/", introspect.New(s, introspect.Options{}))
//	go http.ListenAndServe("127.0.0.1:6060", mux)
//
// # Security
//
// The pages show addresses, names and stacks and have no login: bind them to
// loopback or to a network of the operators, or put a handler that
// authenticates clients in front of them. The pages change nothing, unless
// [Options] allow it; a change by a browser must come from one of these pages.
// Against DNS rebinding the pages answer only as localhost, under a numeric
// address and under Options.Hosts. Texts are cut and escaped, and a page
// fetches nothing from other servers.
//
// # Cost
//
// Nothing runs between requests. A request waits for no Processor, so the pages
// answer even while all Processors are stalled. A request about coroutines or
// sockets walks over all of them; walks run one after the other, and take at
// most a fifth of the time.
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
//	stalls        processor, cause
//	stop          POST of a form with id; redirects
//
// Lists take sort, a column's name, with a minus for the largest first; rows,
// up to 1000; and after or before, the answer's next or prev. A client that
// reads all pages of a list misses no row that existed all the time, and gets
// no row twice. Every page takes refresh, the seconds after which a browser
// loads it again. The answer to a failed request has an HTTP status and the
// error as JSON.
package introspect
