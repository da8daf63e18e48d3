//go:build !race

package context

func (c *Context) switchRace(to, warm *Context) {}
