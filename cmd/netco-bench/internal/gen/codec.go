package gen

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// A codec is a protocol on one connection: it makes requests and recognises
// answers. It does no I/O.
type codec interface {
	// requests returns the bytes of the next k requests. They are valid until
	// the next call.
	requests(k int) []byte

	// answer takes bytes of b up to the end of one answer, and returns how
	// many. If the verdict is 0 the answer is incomplete; what is not taken of
	// b is to be given again with more behind it. An error is a wrong answer.
	answer(b []byte) (n int, v verdict, err error)

	// failure describes the last answer, one with the bit failed.
	failure(v verdict) string

	// end returns what the end of the stream makes of an incomplete answer.
	end() verdict

	// reset is for a new connection, on which nothing has been sent.
	reset()
}

// verdict is what is known of an answer: 0 while it is incomplete, or these
// bits, and above them an HTTP status or the request's class.
type verdict uint32

const (
	complete    verdict = 1 << iota
	failed              // the server reports an error
	last                // the server ends the connection behind it
	statusShift = 8
	classShift  = 20
)

// statusText describes an answer by its HTTP status.
func statusText(v verdict) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", v.status(),
		http.StatusText(v.status())))
}

func (v verdict) status() int { return int(v>>statusShift) % (1 << (classShift - statusShift)) }
func (v verdict) class() int  { return int(v >> classShift) }

// errWrong is in the chain of errors about an answer that is not right.
var errWrong = errors.New("wrong answer")

func wrongf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errWrong}, args...)...)
}

// maxUnparsed is how much of an answer may have to be kept because more is
// needed to go on: a head, a line.
const maxUnparsed = 256 << 10
