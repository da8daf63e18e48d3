package socket

import "io"

// OpenPipes returns how many pipes exist for splicing.
func OpenPipes() int { return int(openPipes.Load()) }

// MaxPipes is the most that may.
const MaxPipes = maxPipes

// TakePipes takes so many pipes, as transfers do, and returns a function that
// gives them back.
func TakePipes(n int) (giveBack func()) {
	var all []*pipe
	for range n {
		if p := acquirePipe(); p != nil {
			all = append(all, p)
		}
	}
	return func() {
		for _, p := range all {
			p.release()
		}
	}
}

// ReadFromStream copies from r to a Unix stream, whose own ReadFrom is for
// packets.
func (c *UnixConn) ReadFromStream(r io.Reader) (int64, error) { return c.readFrom(r) }
