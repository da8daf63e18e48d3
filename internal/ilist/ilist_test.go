package ilist_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/netco-go/netco/internal/ilist"
)

type job struct {
	name string
	ilist.Links[job]
}

func Example() {
	var jobs ilist.List[job]
	b := &job{name: "b"}
	jobs.PushBack(&job{name: "a"})
	jobs.PushBack(b)
	jobs.PushBack(&job{name: "c"})
	jobs.Remove(b)
	for j := jobs.Front(); j != nil; j = j.Link {
		fmt.Println(j.name)
	}
	// Output:
	// a
	// c
}

// forward and backward return the elements as their links have them.
func forward(l *ilist.List[job]) (all []*job, last *job) {
	for j := l.Front(); j != nil; j = j.Link {
		all, last = append(all, j), j
	}
	return all, last
}

func backward(last *job) (all []*job) {
	for j := last; j != nil; j = j.Prev {
		all = append(all, j)
	}
	slices.Reverse(all)
	return all
}

// TestAsSlice compares a list with a slice over random operations: the order
// in both directions, and that what has left keeps no link.
func TestAsSlice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var l ilist.List[job]
	var want []*job
	for range 10_000 {
		var out *job
		switch n := len(want); r.IntN(5) {
		case 0:
			want = append(want, &job{})
			l.PushBack(want[n])
		case 1:
			want = slices.Insert(want, 0, &job{})
			l.PushFront(want[0])
		case 2:
			if out = l.PopFront(); n == 0 && out != nil || n > 0 && out != want[0] {
				t.Fatalf("popped %p of %v", out, want)
			}
			want = want[min(n, 1):]
		case 3, 4:
			if n > 0 {
				i := r.IntN(n)
				out = want[i]
				l.Remove(out)
				want = slices.Delete(want, i, i+1)
			}
		}
		got, last := forward(&l)
		if !slices.Equal(got, want) || !slices.Equal(backward(last), want) ||
			l.Empty() != (len(want) == 0) {
			t.Fatalf("forward %v, backward %v, want %v", got, backward(last), want)
		}
		if out != nil && (out.Link != nil || out.Prev != nil) {
			t.Fatal("an element that has left has links")
		}
	}
}
