package outbox

// Vectors has o write several messages as pieces by v, as to a connection of
// netco. It returns o, which has not been used.
func (o *Outbox) Vectors(v vectorWriter) *Outbox {
	o.vector, o.batch = v, vectorBatch
	return o
}
