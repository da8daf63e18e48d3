//go:build amd64 || arm64

package asm

import "testing"

// TestFindGoid: an offset is found if it alone fits all goroutines.
func TestFindGoid(t *testing.T) {
	sample := func(fill func(i int, s *numbered)) func(int) []numbered {
		return func(n int) []numbered {
			all := make([]numbered, n)
			for i := range all {
				all[i].id = uint64(100 + i)
				fill(i, &all[i])
			}
			return all
		}
	}
	for _, c := range []struct {
		name string
		fill func(i int, s *numbered)
		want uintptr // 0: none
	}{
		{"one", func(i int, s *numbered) { s.words[20] = uintptr(s.id) }, 160},
		{"one, and another in all but one", func(i int, s *numbered) {
			s.words[20] = uintptr(s.id)
			if i > 0 {
				s.words[7] = uintptr(s.id)
			}
		}, 160},
		{"two", func(i int, s *numbered) {
			s.words[20], s.words[21] = uintptr(s.id), uintptr(s.id)
		}, 0},
		{"none", func(i int, s *numbered) {}, 0},
		{"only the first's", func(i int, s *numbered) { s.words[20] = 100 }, 0},
		{"no numbers", func(i int, s *numbered) { s.id = 0 }, 0},
	} {
		got, err := findGoid(9, sample(c.fill))
		if got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%s: %d, %v; want %d", c.name, got, err, c.want)
		}
	}
	for range 50 {
		if got, err := findGoid(9, goroutineNumbers); err != nil || got == 0 {
			t.Fatalf("the real one: %d, %v", got, err)
		}
	}
}
