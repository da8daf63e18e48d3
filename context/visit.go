package context

// visit is a function on its way to another context, to run there.
type visit struct {
	f  func()
	by *Context
}

func (v *visit) receive() (by *Context) {
	v.f()
	return v.by
}

// Visit resumes c to run f, on c's stack and below the function in which c gave control up, and returns when f has; c is then parked as
// before, in the same slot, and whoever waits for it to be resumed has seen nothing. To be called by the loop.
//
// Preconditions: c is parked where it asks for relays, in Transfer or in a Switch that is followed by Relaying and PassOn, or, with the
// portable backend, in Suspend. f does not switch, and neither panics nor calls runtime.Goexit.
func (loop *Context) Visit(c *Context, f func()) {
	v := &visit{f, loop}
	if !symmetric {
		c.pull.visit = v
		c.pull.resume()
		return
	}
	c.relay = &Context{pull: &pull{visit: v}}
	loop.Transfer(c, c)
}
