package socket

// Holds reports which buffers b has. For a b that nobody uses at the moment.
func (b *Buffered) Holds() (reading, writing bool) { return b.in != nil, b.out != nil }
