// Package epoller is an edge-triggered epoll instance with a slab of registrations and a bell that wakes it.
// It knows no coroutine: it delivers, for each event, the object that was registered and what happened.
//
// Engine: the API follows netco's needs from one release to the next, and is
// public only by its folder. A curious reader learns here how an edge-
// triggered epoll instance is used so that no edge is lost, and no event of an
// old fd is taken for a new one.
//
// # Registrations
//
// Each fd is registered once, for everything (IN|OUT|RDHUP, edge-triggered), and stays so until it is closed; no call
// to epoll_ctl is made per operation. What epoll carries for an fd is a slot number and a generation, never a
// pointer: an event that was under way when its fd was closed carries an old generation and is dropped, whatever
// the fd's number or the slot is used for by then.
//
//	slot       free → Register → used → Release → free, generation one higher
//	event      delivered if its generation is the slot's, else dropped
//
// # Asleep and awake
//
//	word       means                              set by
//	awake      the owner looks by itself          owner: Awake; a ringer (asleep → awake, then it rings)
//	asleep     the owner is, or is about to be,   owner: Asleep; it must then look for work once more
//	           blocked in Wait                    before Wait
//
// So the eventfd is written at most once between two sleeps, and never while
// the owner is awake. It is registered edge-triggered and never read: each
// write is a new edge. Close waits for a ringer that has found the owner
// asleep: else the write could go to whatever file has the bell's number by
// then.
//
// # Threads
//
// Poll, Wait, Event, Asleep and Awake: the owner's. Register, Release and Ring: any.
package epoller
