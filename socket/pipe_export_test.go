package socket

import "net"

// PipeOffered reports whether a Read of an end of a Pipe would find something.
func PipeOffered(c net.Conn) bool {
	w := c.(*pipeEnd).in
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.offered
}
