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
	p := objpool.New[request](8, 100)
	r := p.Get()
	r.id, r.body = 1, []byte("hello")
	r.body = nil // the pool would keep it alive
	p.Put(r)

	again := p.Get()
	fmt.Println(again == r, again.id)
	// Output: true 1
}
