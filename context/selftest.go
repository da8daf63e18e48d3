package context

import (
	"fmt"
	"slices"
)

// selfTest drives contexts through every kind of switch and compares the steps
// that ran with the expected ones: resume, suspend, a suspend by a goroutine
// that the context has resumed in turn, and ends.
func selfTest() (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("self-test: %v", r)
			}
		}()
		err = nest()
	}()
	<-done
	return err
}

func nest() error {
	var outer, inner Context
	var got []int
	inner.Init(func(*Context) {
		got = append(got, 2)
		inner.Suspend()
		got = append(got, 4)
		outer.Suspend() // to outer's resumer, past inner's
		got = append(got, 6)
	})
	outer.Init(func(*Context) {
		got = append(got, 1)
		inner.Resume(&inner)
		got = append(got, 3)
		inner.Resume(&outer)
		got = append(got, 7)
		outer.Suspend()
		got = append(got, 9)
	})
	outer.Resume(&outer)
	got = append(got, 5)
	outer.Resume(&inner)
	got = append(got, 8)
	outer.Resume(&outer)
	if want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		return fmt.Errorf("self-test: ran %v, want %v", got, want)
	}
	return nil
}
