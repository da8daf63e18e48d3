// Package diff shows how two texts differ.
package diff

import (
	"fmt"
	"slices"
	"strings"
)

// around is how many equal lines a diff shows around those that differ.
const around = 3

// Unified returns the unified diff of a file's lines, in the fewest insertions
// and deletions.
func Unified(name, before, after string) string {
	a, b := lines(before), lines(after)
	var out strings.Builder
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n", name, name)
	if before == "" {
		out.Reset()
		fmt.Fprintf(&out, "--- /dev/null\n+++ b/%s\n", name)
	}
	ops := compare(a, b)
	for at := 0; at < len(ops); {
		if ops[at].kind == ' ' {
			at++
			continue
		}
		from, end, equal := max(0, at-around), at, 0
		for ; end < len(ops) && equal <= 2*around; end++ {
			if equal++; ops[end].kind != ' ' {
				equal = 0
			}
		}
		end -= max(0, equal-around)
		hunk(&out, ops[from:end])
		at = end
	}
	return out.String()
}

// op is a line of a diff: equal, deleted or inserted, with its place in both
// files.
type op struct {
	kind byte // ' ', '-' or '+'
	text string
	a, b int
}

func hunk(out *strings.Builder, ops []op) {
	var inA, inB int
	for _, o := range ops {
		if o.kind != '+' {
			inA++
		}
		if o.kind != '-' {
			inB++
		}
	}
	place := func(first, n int) string {
		if n == 0 {
			return fmt.Sprintf("%d,0", first)
		}
		return fmt.Sprintf("%d,%d", first+1, n)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", place(ops[0].a, inA), place(ops[0].b, inB))
	for _, o := range ops {
		out.WriteByte(o.kind)
		out.WriteString(o.text)
		if !strings.HasSuffix(o.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// compare finds the shortest way from a to b: for each number of insertions and
// deletions, how far it leads on each diagonal.
func compare(a, b []string) (ops []op) {
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	limit := len(a) + len(b) + 1
	far := make([]int, 2*limit+1) // by diagonal: the line of a
	far[limit+1] = start
	var steps [][]int
	done := false
	for d := 0; !done; d++ {
		steps = append(steps, slices.Clone(far[limit-d-1:limit+d+2]))
		for k := -d; k <= d && !done; k += 2 {
			x := far[limit+k-1] + 1
			if k == -d || k != d && far[limit+k-1] < far[limit+k+1] {
				x = far[limit+k+1]
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			far[limit+k] = x
			done = x >= len(a) && x-k >= len(b)
		}
	}
	x, y := len(a), len(b)
	for d := len(steps) - 1; d >= 0; d-- {
		k, at := x-y, func(k int) int { return steps[d][k+d+1] }
		down := k == -d || k != d && at(k-1) < at(k+1)
		from := k - 1
		if down {
			from = k + 1
		}
		begin := 0 // of the equal lines that end here
		if d > 0 && down {
			begin = at(from)
		} else if d > 0 {
			begin = at(from) + 1
		}
		for x > begin {
			x, y = x-1, y-1
			ops = append(ops, op{' ', a[x], x, y})
		}
		if d == 0 {
			break
		}
		if down {
			y--
			ops = append(ops, op{'+', b[y], x, y})
		} else {
			x--
			ops = append(ops, op{'-', a[x], x, y})
		}
	}
	slices.Reverse(ops)
	return ops
}
