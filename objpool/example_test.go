package objpool_test

import (
	"fmt"

	"github.com/netco-go/netco/objpool"
)

type request struct {
	id   int
	body []byte
}

func ExamplePool() {
	p := objpool.New(objpool.Options[request]{
		Chunk: 8,
		Cap:   100,
		Reset: func(r *request) { *r = request{} },
	})
	r := p.Get()
	r.id, r.body = 1, []byte("hello")
	p.Put(r) // Reset drops the body

	again := p.Get()
	fmt.Println(again == r, again.id, again.body == nil)

	s := p.Stats()
	fmt.Println(s.Gets, s.Reused, s.Allocated, s.InUse)
	// Output:
	// true 0 true
	// 2 1 8 1
}

func ExamplePool_Trim() {
	p := objpool.New(objpool.Options[request]{Chunk: 4})
	var busy []*request
	for range 8 {
		busy = append(busy, p.Get())
	}
	for _, r := range busy {
		p.Put(r)
	}
	p.Trim(2) // the rush is over
	s := p.Stats()
	fmt.Println(s.Free, s.Dropped)
	// Output: 2 6
}
