package http

// input is what the buffer reads from. Owner: the connection's, and whatever
// has hijacked it.
type input struct {
	c     *conn
	early []byte // was read already, and comes first
}

// Read implements io.Reader. It sends what was written before it waits.
func (r *input) Read(p []byte) (n int, err error) {
	c := r.c
	switch {
	case len(r.early) > 0:
		n = copy(p, r.early)
		if r.early = r.early[n:]; len(r.early) == 0 {
			r.early = nil
		}
		return n, nil
	case c.hijacked.Load():
		return c.nc.Read(p)
	case c.work.out.Buffered() > 0:
		c.flush()
	}
	if n, err = c.nc.Read(p); err != nil {
		if w := c.current.Load(); w != nil {
			w.peerGone()
		}
	}
	return n, err
}
