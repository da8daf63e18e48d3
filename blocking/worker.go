package blocking

// worker is an ordinary goroutine that runs one function after the other.
type worker struct {
	pool *Pool
	// calls has a capacity of one: whoever removes the worker from the pool's
	// idle list sends once, without waiting. nil is the end.
	calls chan *call
	call  *call // its own: what it runs, nil between two
}

// start starts a worker with its first call. It is counted already.
func (p *Pool) start(c *call) {
	w := &worker{pool: p, calls: make(chan *call, 1)}
	go w.main(c)
}

func (w *worker) main(c *call) {
	orderly := false
	defer func() {
		if !orderly {
			w.unwound()
		}
	}()
	for c != nil {
		w.call = c
		started := c.begin() && c.invoke()
		// First the books, then the caller: its next call finds this worker
		// idle.
		next, stay := w.pool.next(w, started)
		w.call = nil
		c.finish()
		if next == nil && stay {
			next = <-w.calls
		}
		c = next
	}
	orderly = true
}

// unwound ends the worker after a Goexit of the function that it ran.
func (w *worker) unwound() {
	c := w.call
	if c == nil {
		return // a panic without a caller is ending the program
	}
	w.pool.lost()
	c.finish()
}
