package stacks

import (
	"slices"
	"testing"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/testenv"
)

// TestBystander: All leaves out a goroutine while that is marked, and others
// never.
func TestBystander(t *testing.T) {
	hold, goOn, marked := make(chan int), make(chan int), make(chan uintptr, 1)
	s := run(t, func() {
		over := Bystander()
		marked <- asm.Getg()
		<-hold
		over()
		<-goOn
	})
	g := <-marked
	waits := func(t *testing.T, marked bool) {
		until(t, func() (Stack, error) { return ByID([]uint64{s.id}) }, "chan receive")
		testenv.Equal(t, IsBystander(g), marked, "marked")
		in := func(s Stack) bool { return slices.Contains(s.Funcs, self+"TestBystander.func1") }
		if all := testenv.Must(All()); slices.ContainsFunc(all, in) == marked || len(all) == 0 {
			t.Errorf("marked: %v; %d goroutines", marked, len(all))
		}
	}
	waits(t, true)
	hold <- 1
	testenv.Until(t, "it to be no bystander", func() bool { return !IsBystander(g) })
	waits(t, false)
	goOn <- 1
	<-s.done
}
