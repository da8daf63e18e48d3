package layout

import (
	"fmt"
	"go/ast"
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
	comment := func(place, text, line string) {
		wrong = append(append(wrong, private(place, text)...), tooWide(place, line)...)
	}
	for p, text := range s.texts {
		if path.Ext(p) == ".s" {
			for i, line := range strings.Split(text, "\n") {
				if _, text, ok := strings.Cut(line, "//"); ok {
					comment(fmt.Sprintf("%s:%d", p, i+1), text, line)
				}
			}
		}
	}
	clean := map[string]bool{} // identifiers that were checked: most stand in many places
	for _, f := range s.files {
		lines := strings.Split(s.texts[f.path], "\n")
		wide := map[int]bool{} // lines that may be
		ast.Inspect(f.File, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.CommentGroup:
				return false // f.Comments has all
			case *ast.Ident:
				if !clean[n.Name] {
					found := private(fmt.Sprintf("%s:%d", f.path, s.lineOf(n.Pos())), n.Name)
					wrong, clean[n.Name] = append(wrong, found...), found == nil
				}
				if len(n.Name) > longName {
					wide[s.lineOf(n.Pos())] = true
				}
			case *ast.BasicLit:
				if n.Value[0] == '`' {
					for i := range strings.Count(n.Value, "\n") + 1 {
						wide[s.lineOf(n.Pos())+i] = true
					}
				}
			}
			return true
		})
		for _, group := range f.Comments {
			for _, c := range group.List {
				for i, text := range strings.Split(c.Text, "\n") {
					n := s.lineOf(c.Pos()) + i
					comment(fmt.Sprintf("%s:%d", f.path, n), text, lines[n-1])
					wide[n] = true // or checked
				}
			}
		}
		for i, line := range lines {
			if c := columns(line); c > codeColumns && !wide[i+1] {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %d columns of code, want %d at most",
					f.path, i+1, c, codeColumns))
			}
		}
	}
	return wrong
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

// private checks the words of an identifier or a comment.
func private(place, text string) (wrong []string) {
	notLetter := func(r rune) bool { return !unicode.IsLetter(r) }
	for word := range strings.FieldsFuncSeq(text, notLetter) {
		for _, part := range humps(word) {
			if better, ok := privateWords[strings.ToLower(part)]; ok {
				wrong = append(wrong, fmt.Sprintf("%s: %q: better %s", place, part, better))
			}
		}
	}
	if !strings.Contains(text, "who") && !strings.Contains(text, "Who") {
		return wrong // most lines, and the regular expression is slow
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
