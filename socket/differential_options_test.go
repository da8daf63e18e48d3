package socket_test

import (
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// setOption sets something and compares all options afterwards.
func (d *diffRun) setOption(o diffOp, e int) {
	m := &d.ends[e]
	which := int(o.arg) % 14
	if which == 9 && m.closed {
		return // net changes nothing and does not look whether it could: no error
	}
	d.step(o.name("option %d", which), func(w *diffWorld) (text string) {
		c := w.ends[e]
		w.do(o.place(), func() { text = w.tellError(setDiffOption(c, which)) })
		if !m.closed {
			text += " " + w.options(e)
		}
		return text
	})
}

// setDiffOption sets one of 14 things. It leaves Nagle's algorithm off: that
// makes waiting for what is under way slow.
func setDiffOption(c diffEnd, which int) error {
	switch which {
	case 0:
		return c.SetReadBuffer(2 * diffBuffer)
	case 1:
		return c.SetWriteBuffer(2 * diffBuffer)
	case 2:
		return c.SetReadBuffer(diffBuffer)
	case 3:
		return c.SetWriteBuffer(diffBuffer)
	}
	t, ok := c.(diffTCP)
	if !ok {
		return nil
	}
	switch which {
	case 4:
		return t.SetNoDelay(true)
	case 5:
		return t.SetKeepAlive(false)
	case 6:
		return t.SetKeepAlive(true)
	case 7:
		return t.SetKeepAlivePeriod(1500 * time.Millisecond)
	case 8:
		return t.SetKeepAlivePeriod(0)
	case 9:
		return t.SetKeepAlivePeriod(-1)
	case 10:
		return t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: -1, Count: 3})
	case 11:
		return t.SetKeepAliveConfig(net.KeepAliveConfig{})
	case 12:
		// more than the kernel takes
		return t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 40000 * time.Second})
	}
	if err := t.SetLinger(3); err != nil {
		return err
	}
	return t.SetLinger(-1)
}

// options tells the options that either package may set.
func (w *diffWorld) options(e int) string {
	var b strings.Builder
	get := func(level, name int) {
		n, err := unix.GetsockoptInt(w.fds[e], level, name)
		if err != nil {
			n = -1
		}
		fmt.Fprintf(&b, " %d", n)
	}
	get(unix.SOL_SOCKET, unix.SO_TYPE)
	get(unix.SOL_SOCKET, unix.SO_RCVBUF)
	get(unix.SOL_SOCKET, unix.SO_SNDBUF)
	get(unix.SOL_SOCKET, unix.SO_KEEPALIVE)
	get(unix.SOL_SOCKET, unix.SO_LINGER)
	get(unix.SOL_SOCKET, unix.SO_REUSEADDR)
	get(unix.SOL_SOCKET, unix.SO_OOBINLINE)
	get(unix.IPPROTO_TCP, unix.TCP_NODELAY)
	get(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE)
	get(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL)
	get(unix.IPPROTO_TCP, unix.TCP_KEEPCNT)
	flags, _ := unix.FcntlInt(uintptr(w.fds[e]), unix.F_GETFL, 0)
	onExec, _ := unix.FcntlInt(uintptr(w.fds[e]), unix.F_GETFD, 0)
	fmt.Fprintf(&b, " nonblock=%v cloexec=%v", flags&unix.O_NONBLOCK != 0, onExec&unix.FD_CLOEXEC != 0)
	return b.String()
}

// look asks for addresses and for a file.
func (d *diffRun) look(o diffOp, e int) {
	d.step(o.name("look"), func(w *diffWorld) (text string) {
		c := w.ends[e]
		w.do(o.place(), func() {
			for _, a := range []net.Addr{c.LocalAddr(), c.RemoteAddr()} {
				if a == nil {
					text += "nil "
					continue
				}
				text += fmt.Sprintf("%T %s %s; ", a, a.Network(), w.hide.Replace(a.String()))
			}
		})
		// A coroutine must not open files.
		f, err := c.File()
		text += w.tellError(err)
		if err == nil {
			text += w.hide.Replace(f.Name())
			f.Close()
		}
		return text
	})
}

// rawControl uses the fd.
func (d *diffRun) rawControl(o diffOp, e int) {
	d.step(o.name("raw Control"), func(w *diffWorld) (text string) {
		c := w.ends[e]
		w.do(o.place(), func() {
			raw, err := c.SyscallConn()
			text = w.tellError(err)
			if err != nil {
				return
			}
			calls := 0
			err = raw.Control(func(fd uintptr) {
				calls++
				n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE)
				text += fmt.Sprint(" type ", n, err)
			})
			text += fmt.Sprintf(", %d calls, %s", calls, w.tellError(err))
		})
		return text
	})
}
