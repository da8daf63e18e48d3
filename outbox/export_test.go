package outbox

// Vectors has b write several messages as pieces by v, as to a connection of
// netco. It returns b, which has not been used.
func (b *Outbox) Vectors(v vectorWriter) *Outbox {
	b.vector, b.batch = v, vectorBatch
	return b
}
