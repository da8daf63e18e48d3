// Package epoller is an edge-triggered epoll instance with a slab of
// registrations and an eventfd, the bell, that wakes it. It knows nothing of
// coroutines: for each event it returns the registered object and the epoll
// bits.
//
// Engine: the API follows netco's needs from one release to the next, and is
// public only by its folder. It shows how to use edge-triggered epoll so that
// no edge is lost, and no event of an old fd is delivered to a new one.
//
// # Registrations
//
// Each fd is registered once, for everything (IN|OUT|RDHUP, edge-triggered),
// until it is closed; no operation calls epoll_ctl. The user data that epoll
// carries for an fd is a slot number and a generation, never a pointer: an
// event in flight when its fd was closed carries an old generation and is
// dropped, even if the fd's number or the slot has been reused.
//
//	slot       free → Register → used → Release → free, generation one higher
//	event      delivered if its generation is the slot's, else dropped
//
// # Asleep and awake
//
//	word       means                              set by
//	awake      the owner checks for work itself   owner: Awake; a ringer, if it
//	                                              was asleep, before it rings
//	asleep     the owner is blocked in Wait, or   owner: Asleep; it must check
//	           about to be                        for work again before Wait
//
// So the eventfd is written at most once between two sleeps, and never while
// the owner is awake. It is registered edge-triggered and never read: each
// write is a new edge. EndUnused writes it in any case, once. Close waits for a
// ringer that has found the owner asleep; otherwise the write could go to
// another file that has the bell's number by then.
//
// # Threads
//
// Poll, Wait, Event, PrefetchTarget, Asleep, Awake and Close are the owner's.
// The other methods may be called from any thread.
package epoller
