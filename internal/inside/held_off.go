//go:build !netco_invariants && !race

package inside

// held counts locks and claims where invariants are checked, see held_on.go.
type held struct{}

func (held) any() bool { return false }

// Mark is empty in a build that does not check invariants.
type Mark struct{}

// Set and Clear do nothing here.
func (*Mark) Set()   {}
func (*Mark) Clear() {}

// Busy is empty in a build that does not check invariants.
type Busy struct{}

// Begin and Done do nothing here.
func Begin() (b Busy) { return b }
func (Busy) Done()    {}

// Holds reports false: this build does not count.
func (p *Pinning) Holds() bool { return p.held.any() }
