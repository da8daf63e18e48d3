// Package gen is the load generator behind netco-bench load.
//
// It runs on netco itself: a Processor for each thread, a coroutine for each
// connection. All that a worker has, its schedule, its counters, its
// connections, is used by coroutines of one Processor, so it needs no lock; the
// threads are locked, so no coroutine is ever left behind and runs beside the
// others. Once in 100 ms a coroutine publishes the figures under a mutex for
// the live view.
//
// A closed loop keeps Config.Pipeline requests in flight on each connection. A
// server that stalls is then asked less, and its stall is a few slow requests.
//
// An open loop intends each request for a time that is fixed in advance.
// Whichever connection is free takes the next intended time, sleeps until then,
// and sends. If none is free the request waits. The response time counts from
// the intended time, so a stall shows in all the requests that it delays; the
// service time counts from the actual send.
//
// HTTP/2 is golang.org/x/net's client, on goroutines, and costs what that does.
//
// Nothing else on the path of a request allocates; and an idle connection has
// no buffer: it waits until there is something to read, and then borrows one of
// its Processor. Time-outs cost nothing either until they occur: a coroutine
// looks at the oldest request of each connection from time to time.
package gen
