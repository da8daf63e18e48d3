// Package sysx makes all system calls of netco's data path. An [Injector] can
// make every call fail, or do less than asked; with it tests produce EINTR,
// EAGAIN, EMFILE, short reads and resets.
//
// Calls that cannot block are made by RawSyscall, without the Go scheduler,
// which saves some 40 ns. So that a stop-the-world never waits long for one of
// them, they move at most [MaxIO] bytes. Waiting in epoll goes through the Go
// scheduler, which gets its P back.
//
// TryXxx does not block and raises no SIGPIPE. It repeats an interrupted call,
// and returns EAGAIN if there is nothing to receive, or no room to send.
//
// Errors are syscall.Errno values, 0 for none: an error interface would cost an
// allocation or another comparison.
package sysx
