// Package edit edits the files of a module: the text of one, and all of them
// together.
package edit

import (
	"bytes"
	"errors"
	"go/format"
	"slices"
	"strconv"
	"strings"
)

// Edit replaces the bytes from From to To of a text.
type Edit struct {
	From, To int
	Text     string

	// Begin and End say where the result has what the edit makes: how many bytes
	// that are no space stand before it, and before its end. Formatting does not
	// change that.
	Begin, End int
}

// Apply makes edits, in their order where they have one place, and formats the
// result.
func Apply(src []byte, edits []*Edit) ([]byte, error) {
	slices.SortStableFunc(edits, func(a, b *Edit) int { return a.From - b.From })
	var out bytes.Buffer
	at, dense, group := 0, 0, -1
	add := func(text []byte) {
		out.Write(text)
		dense += Density(text)
	}
	done := map[Edit]bool{}
	for _, e := range edits {
		same := Edit{From: e.From, To: e.To, Text: e.Text}
		if done[same] && (e.From < e.To || IsImport(e.Text)) {
			e.Begin, e.End = dense, dense
			continue // two fixes have it in common
		}
		done[same] = true
		if e.From < at {
			return nil, errors.New("edits overlap")
		}
		add(src[at:e.From])
		text := e.Text
		if IsImport(text) {
			if e.From == group && strings.HasPrefix(text, "\n\n") {
				text = text[1:] // it is of the group of the one before
			}
			group = e.From
		}
		e.Begin = dense
		add([]byte(text))
		e.End, at = dense, e.To
	}
	add(src[at:])
	return format.Source(out.Bytes())
}

// ChangeImports changes the imports of what Apply has made of a file.
func ChangeImports(
	made []byte, edits []*Edit, change func([]byte) ([]byte, error),
) ([]byte, error) {
	out, err := change(made)
	if err != nil {
		return nil, err
	}
	above := Density(out) - Density(made)
	for _, e := range edits {
		e.Begin, e.End = e.Begin+above, e.End+above
	}
	return out, nil
}

// IsImport reports whether an edit's text adds an import.
func IsImport(text string) bool {
	text = strings.TrimPrefix(strings.TrimLeft(text, "\n\t"), "import ")
	_, err := strconv.Unquote(text)
	return err == nil
}

// Density counts the bytes of a text that are no space.
func Density(text []byte) (n int) {
	for _, b := range text {
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			n++
		}
	}
	return n
}

// Touches reports whether the edit has made a part of a line of the result.
func (e *Edit) Touches(result []byte, line int) bool {
	lines := bytes.SplitAfter(result, []byte("\n"))
	if line < 1 || line > len(lines) {
		return false
	}
	begin := Density(bytes.Join(lines[:line-1], nil))
	end := begin + Density(lines[line-1])
	if e.Begin == e.End {
		return begin <= e.Begin && e.Begin <= end
	}
	return e.Begin < end && begin < e.End
}
