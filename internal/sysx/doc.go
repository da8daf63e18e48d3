// Package sysx is the one door through which netco makes the system calls of its data path. Every call can be made to
// fail, or to do less than asked, by an [Injector], which is how tests meet EINTR, EAGAIN, EMFILE, short reads and
// resets at will.
//
// Calls that cannot block are made by RawSyscall: the Go scheduler is not told, which saves some 40 ns. So that a
// stop-the-world never waits long for one of them, they move at most [MaxIO] bytes. Waiting in epoll goes the ordinary
// way, which gives the Go scheduler its P back.
//
// Errors are syscall.Errno values, 0 for none: an error interface would cost an allocation or a comparison more.
package sysx
