package layout

import (
	"fmt"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const (
	commentColumns = 80
	codeColumns    = 100 // also for a comment at the end of a line of code
	tabColumns     = 4
)

// privateWords are words of this project's own, and pronouns that hide what is
// meant, with what to write in their place. They are looked for in comments and
// as parts of identifiers.
var privateWords = map[string]string{
	"told": "reported, notified, passed", "tell": "report, return, distinguish",
	"tells": "reports, returns, distinguishes", "telling": "reporting",
	"somebody": "the caller, the waiter, a goroutine",
	"someone":  "the caller, the waiter, a goroutine",
	"nobody":   "no caller, no waiter, nothing", "anybody": "any caller, any thread",
	"errand": "remote call", "kin": "children", "unborn": "starting",
	"heed": "check", "heeds": "checks", "heeded": "checked",
	"conceive": "new", "doomed": "retired", "bury": "endRetired", "orphanage": "retired",
	"lookout": "goroutine poller", "roomer": "permit waiter", "abroad": "freed remotely",
	"thief": "stealer", "doze": "pause", "rouse": "resume", "excuse": "rebaseline",
}

// plain: comments wrap, and use the field's words.
func plain(tr *tree, except []string) (wrong []string) {
	clean := map[string]bool{} // identifiers that were checked: most stand in many places
	for p, text := range tr.texts {
		if ext := path.Ext(p); ext != ".go" && ext != ".s" || slices.Contains(except, path.Dir(p)) {
			continue
		}
		lines := strings.Split(text, "\n")
		for _, w := range wordsOf(p, text) {
			if !w.comment && clean[w.text] {
				continue
			}
			place := fmt.Sprintf("%s:%d", p, w.line)
			found := private(place, w.text)
			wrong = append(wrong, found...)
			if w.comment {
				wrong = append(wrong, tooWide(place, lines[w.line-1])...)
			} else {
				clean[w.text] = found == nil
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// longName is the length of a name, such as that of a cipher suite, twice which
// makes a line that cannot be wrapped.
const longName = 40

// narrow: code is no wider than codeColumns. Lines with a raw string or a long
// name, which cannot be wrapped, may be; those with a comment are plain's.
func narrow(tr *tree, except []string) (wrong []string) {
	for p, text := range tr.texts {
		within := func(folder string) bool { return strings.HasPrefix(p, folder+"/") }
		if path.Ext(p) != ".go" || slices.ContainsFunc(except, within) {
			continue
		}
		exempt := linesOf(p, text, func(tok token.Token, lit string) bool {
			return tok == token.COMMENT || tok == token.STRING && lit[0] == '`' ||
				tok == token.IDENT && len(lit) > longName
		})
		for i, line := range strings.Split(text, "\n") {
			if wide := columns(line); wide > codeColumns && !exempt[i+1] {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %d columns of code, want %d at most",
					p, i+1, wide, codeColumns))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// linesOf returns the lines that the matching tokens of a Go file cover.
func linesOf(p, text string, match func(token.Token, string) bool) map[int]bool {
	file := token.NewFileSet().AddFile(p, -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if match(tok, lit) {
			for i := range strings.Count(lit, "\n") + 1 {
				lines[file.Line(pos)+i] = true
			}
		}
	}
}

// words is an identifier, or one line of a comment.
type words struct {
	line    int
	text    string
	comment bool
}

// wordsOf returns what a file says beside its code: the comments, and in Go the
// identifiers.
func wordsOf(p, text string) (all []words) {
	if path.Ext(p) == ".s" {
		for n, line := range strings.Split(text, "\n") {
			if _, comment, ok := strings.Cut(line, "//"); ok {
				all = append(all, words{n + 1, comment, true})
			}
		}
		return all
	}
	file := token.NewFileSet().AddFile(p, -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return all
		case token.COMMENT, token.IDENT:
			for i, l := range strings.Split(lit, "\n") {
				all = append(all, words{file.Line(pos) + i, l, tok == token.COMMENT})
			}
		}
	}
}

// longWord is the length of a word that wrapping does not bring inside of the
// limits, such as an address.
const longWord = 50

// tooWide checks the width of a line with a comment. A directive cannot be
// wrapped.
func tooWide(place, line string) (wrong []string) {
	code, comment, _ := strings.Cut(strings.TrimSpace(line), "//")
	long := func(w string) bool { return len(w) > longWord }
	if strings.HasPrefix(comment, "go:") || slices.ContainsFunc(strings.Fields(comment), long) {
		return nil
	}
	limit := commentColumns
	if code != "" {
		limit = codeColumns
	}
	if wide := columns(line); wide > limit {
		wrong = append(wrong, fmt.Sprintf("%s: %d columns, want %d at most", place, wide, limit))
	}
	return wrong
}

// columns is how wide a line is shown.
func columns(line string) (n int) {
	for _, r := range strings.TrimRight(line, "\r\n") {
		if n++; r == '\t' {
			n += -n & (tabColumns - 1) // to the next tab stop
		}
	}
	return n
}

var letters = regexp.MustCompile(`\pL+`)

// private checks the words of an identifier or a comment.
func private(place, text string) (wrong []string) {
	for _, word := range letters.FindAllString(text, -1) {
		for _, part := range humps(word) {
			if better, ok := privateWords[strings.ToLower(part)]; ok {
				wrong = append(wrong, fmt.Sprintf("%s: %q: better %s", place, part, better))
			}
		}
	}
	if m := bareWho.FindString(text); m != "" {
		wrong = append(wrong, fmt.Sprintf("%s: %q: better the waker, the caller, whoever",
			place, m))
	}
	return wrong
}

// bareWho is "who" as a noun, where a noun should stand.
var bareWho = regexp.MustCompile(`(^|// |[.;:(] )Who |\b(of|to|by|from|with|for|than|and) who\b`)

// humps splits an identifier in mixed case into its words.
func humps(word string) (parts []string) {
	start := 0
	runes := []rune(word)
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) && unicode.IsLower(runes[i-1]) {
			parts = append(parts, string(runes[start:i]))
			start = i
		}
	}
	return append(parts, string(runes[start:]))
}

// TestCommentsArePlain holds the tree to the rules.
func TestCommentsArePlain(t *testing.T) {
	_, tr, _ := read(t)
	report(t, plain(tr, nil))
}

// TestCodeIsNarrow holds the tree to codeColumns.
func TestCodeIsNarrow(t *testing.T) {
	_, tr, _ := read(t)
	report(t, narrow(tr, nil))
}
