package introspect

import (
	"fmt"
	"path"
	"sync"
)

// sites keeps the names of the places that start coroutines: they are few, and
// to look one up is costly.
type sites struct {
	mu    sync.Mutex
	known map[uintptr]site
}

type site struct {
	fn, file string
	line     int
	// The name on pages, for sorting and for filters: dir/file.go:12, or else
	// the function.
	short string
}

// maxSites bounds the number of names. No program has so many go statements.
const maxSites = 1 << 16

// of returns the place that started a coroutine.
func (s *sites) of(i *seen) site {
	if i.File != "" { // known already
		return siteOf(i)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.known[i.Site]
	if !ok {
		i.Resolve()
		at = siteOf(i)
		if s.known == nil || len(s.known) >= maxSites {
			s.known = map[uintptr]site{}
		}
		s.known[i.Site] = at
	}
	return at
}

func siteOf(i *seen) site {
	at := site{fn: cut(i.Func, maxText), file: cut(i.File, maxText), line: i.Line}
	at.short = made(at.fn, at.file, i.Line)
	return at
}

// made returns a place that starts coroutines as pages show it: the file's name
// with its folder, and the line; the function if it has no file; "" if nothing
// is known.
func made(fn, file string, line int) string {
	switch {
	case file == "" && fn == "":
		return ""
	case file == "":
		return path.Base(fn)
	}
	return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(file)), path.Base(file)), line)
}
