package table

import (
	"strings"
	"testing"
)

// TestWrite: hints have a column of their own for a terminal, and none in
// Markdown.
func TestWrite(t *testing.T) {
	table := Table{Head: Words("", "p99", ""), Rows: [][]Cell{
		{{Text: "a|b"}, {Text: "1 ms", Hint: "±1 %"}, {Text: "worse"}}, Words("c", "2 ms", "")}}
	var text, markdown strings.Builder
	table.Print(&text)
	table.Markdown(&markdown)
	want := "        p99      \n  a|b  1 ms  ±1 %  worse\n    c  2 ms      \n"
	if text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
	if want = "| | p99 | |\n|---|---|---|\n| a\\|b | 1 ms | worse |\n" +
		"| c | 2 ms | |\n"; markdown.String() != want {
		t.Errorf("%q, want %q", markdown.String(), want)
	}
}
