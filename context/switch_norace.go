//go:build !race

package context

func (c *Context) switchRace(next *Context) {}
