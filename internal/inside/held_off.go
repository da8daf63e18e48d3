//go:build !netco_invariants && !race

package inside

// held is what an Pinning counts where invariants are checked, see held_on.go.
type held struct{}

func (held) any() bool { return false }

// Mark is nothing in a build that does not check invariants.
type Mark struct{}

// Set and Clear do nothing here.
func (*Mark) Set()   {}
func (*Mark) Clear() {}

// Busy is nothing in a build that does not check invariants.
type Busy struct{}

// Begin and Done do nothing here.
func Begin() (b Busy) { return b }
func (Busy) Done()    {}

// Holds reports false here: nothing is counted.
func (o *Pinning) Holds() bool { return o.held.any() }
