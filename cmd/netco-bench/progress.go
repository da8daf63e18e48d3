package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// progress is the line on stderr that says what is going on. On a terminal it
// is one line written over and over; elsewhere each finished round is a line.
type progress struct {
	w    io.Writer
	tty  bool
	open bool // the cursor stands in an unfinished line
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w}
	if f, ok := w.(*os.File); ok {
		_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		p.tty = err == nil
	}
	return p
}

// note prints a line that stays.
func (p *progress) note(format string, args ...any) {
	p.end()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// update shows what is being done; only a terminal sees it.
func (p *progress) update(format string, args ...any) {
	if p.tty {
		p.overwrite(format, args...)
	}
}

// line shows what was done.
func (p *progress) line(format string, args ...any) {
	if p.tty {
		p.overwrite(format, args...)
	} else {
		p.note(format, args...)
	}
}

func (p *progress) overwrite(format string, args ...any) {
	fmt.Fprintf(p.w, "\r\x1b[K"+format, args...)
	p.open = true
}

// end finishes the line, if one is open.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.w)
		p.open = false
	}
}
