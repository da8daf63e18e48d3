package gen

// ring is a queue that grows and never shrinks.
type ring[T any] struct {
	items       []T
	head, count int
}

func (r *ring[T]) push(v T) {
	if r.count == len(r.items) {
		grown := make([]T, max(1, 2*r.count))
		copy(grown[copy(grown, r.items[r.head:]):], r.items[:r.head])
		r.items, r.head = grown, 0
	}
	i := r.head + r.count
	if i >= len(r.items) {
		i -= len(r.items)
	}
	r.items[i] = v
	r.count++
}

func (r *ring[T]) pop() T {
	v := r.items[r.head]
	if r.head++; r.head == len(r.items) {
		r.head = 0
	}
	r.count--
	return v
}

// at returns the i-th oldest item.
func (r *ring[T]) at(i int) *T {
	if i += r.head; i >= len(r.items) {
		i -= len(r.items)
	}
	return &r.items[i]
}

// first returns the oldest item, which there must be.
func (r *ring[T]) first() *T { return &r.items[r.head] }

func (r *ring[T]) clear() { r.head, r.count = 0, 0 }
