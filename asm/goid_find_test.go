//go:build amd64 || arm64

package asm

import (
	"sync/atomic"
	"testing"
)

// TestAgreed: a place is found if it alone fits all goroutines.
func TestAgreed(t *testing.T) {
	for _, c := range []struct {
		name  string
		finds func(i int32) []int // the places that goroutine i finds
		want  int                 // 0: none
	}{
		{"one", func(int32) []int { return []int{20} }, 20},
		{"one, and another in all but one", func(i int32) []int {
			return []int{20, 7}[:min(i, 2)]
		}, 20},
		{"two", func(int32) []int { return []int{20, 21} }, 0},
		{"none", func(int32) []int { return nil }, 0},
		{"only the first's", func(i int32) []int { return []int{20}[min(i, 2)-1:] }, 0},
	} {
		var calls atomic.Int32
		got, ok := agreed(9, func() map[int]bool {
			places := map[int]bool{}
			for _, at := range c.finds(calls.Add(1)) {
				places[at] = true
			}
			return places
		})
		if ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%s: %d, %v; want %d", c.name, got, ok, c.want)
		}
	}
	for range 50 {
		if got, ok := agreed(9, goidPlaces); !ok || got == 0 {
			t.Fatalf("a goroutine's number: %d, %v", got, ok)
		}
	}
}
