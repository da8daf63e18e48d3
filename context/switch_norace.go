//go:build !race

package context

func (c *Context) switchRace(warm *Context) {}
