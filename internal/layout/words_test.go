package layout

import (
	"fmt"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
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
	"conceive": "new", "doomed": "abandoned", "bury": "reap", "orphanage": "abandoned",
	"lookout": "goroutine poller", "roomer": "permit waiter", "abroad": "freed remotely",
	"thief": "stealer", "doze": "pause", "rouse": "resume", "excuse": "rebaseline",
}

// longName is the length of a name, such as that of a cipher suite, twice which
// makes a line that cannot be wrapped.
const longName = 40

// plain: comments wrap and use the field's words, as names do, and code is no
// wider than codeColumns. Lines with a raw string or a long name, which cannot
// be wrapped, may be.
func plain(s *source) (wrong []string) {
	clean := map[string]bool{} // identifiers that were checked: most stand in many places
	for p, text := range s.texts {
		if path.Ext(p) != ".go" && path.Ext(p) != ".s" {
			continue
		}
		lines := strings.Split(text, "\n")
		wide := map[int]bool{} // lines that may be
		tokens(p, text, func(n int, tok token.Token, lit string) {
			place := fmt.Sprintf("%s:%d", p, n)
			switch {
			case tok == token.COMMENT:
				wrong = append(wrong, private(place, lit)...)
				wrong = append(wrong, tooWide(place, lines[n-1])...)
				wide[n] = true // or checked
			case tok == token.IDENT && !clean[lit]:
				found := private(place, lit)
				wrong = append(wrong, found...)
				clean[lit] = found == nil
			}
			if tok == token.IDENT && len(lit) > longName || tok == token.STRING {
				wide[n] = true
			}
		})
		for i, line := range lines {
			if c := columns(line); path.Ext(p) == ".go" && c > codeColumns && !wide[i+1] {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %d columns of code, want %d at most",
					p, i+1, c, codeColumns))
			}
		}
	}
	return wrong
}

// tokens calls f for the identifiers of a file, and for each line of its
// comments and raw strings; of assembly, for the comments only.
func tokens(p, text string, f func(line int, tok token.Token, lit string)) {
	if path.Ext(p) == ".s" {
		for n, line := range strings.Split(text, "\n") {
			if _, comment, ok := strings.Cut(line, "//"); ok {
				f(n+1, token.COMMENT, comment)
			}
		}
		return
	}
	file := token.NewFileSet().AddFile(p, -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return
		case tok == token.COMMENT, tok == token.IDENT, tok == token.STRING && lit[0] == '`':
			for i, l := range strings.Split(lit, "\n") {
				f(file.Line(pos)+i, tok, l)
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
