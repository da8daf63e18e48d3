package context

import (
	"iter"

	"github.com/netco-go/netco/asm"
)

// pull is a context on iter.Pull: its resumer calls next, the context yield.
type pull struct {
	next  func() (struct{}, bool)
	yield func(struct{}) bool
}

// goexited is the panic value by which a context that ends by runtime.Goexit
// returns to its resumer. Otherwise iter.Pull would repeat the Goexit in the
// resumer and end the resumer too.
type goexited struct{}

func newPull(c *Context, entry func(*Context)) *pull {
	p := new(pull)
	p.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		returned := false
		defer func() {
			if !returned {
				panic(goexited{})
			}
		}()
		p.yield = yield
		c.frame.G = asm.Getg()
		entry(c)
		returned = true
	})
	return p
}

func (p *pull) resume() {
	defer func() {
		if r := recover(); r != nil && r != (goexited{}) {
			panic(r)
		}
	}()
	p.next()
}
