package layout

import (
	"fmt"
	"slices"
	"testing"
)

// screenLines is how long a function of a test may be: a screen.
const screenLines = 60

// short: no function of a test is longer than a screen.
func short(tr *tree) (wrong []string) {
	for _, f := range tr.files {
		if !f.isTest() {
			continue
		}
		for name, lines := range f.lines {
			if lines > screenLines {
				wrong = append(wrong, fmt.Sprintf("%s: %s has %d lines, want %d at most", f.path,
					name, lines, screenLines))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// TestTestsAreShort holds the tree to screenLines.
func TestTestsAreShort(t *testing.T) {
	_, tr, _ := read(t)
	report(t, short(tr))
}
