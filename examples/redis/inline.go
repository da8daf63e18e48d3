package main

import "bytes"

// inline is next for a line of words, as one types it into telnet. It allocates
// when something is quoted.
func (r *parser) inline(p []byte) (args [][]byte, used, need int, err error) {
	end := bytes.IndexByte(p[r.at:], '\n')
	if end >= 0 {
		end += r.at
	}
	if end > maxInline || end < 0 && len(p) > maxInline {
		return nil, 0, 0, longInline
	}
	if end < 0 {
		r.at = len(p)
		return nil, 0, 0, nil
	}
	r.at = 0
	args, ok := words(bytes.TrimSuffix(p[:end], []byte("\r")), r.args[:0])
	r.args = args
	if !ok {
		return nil, 0, 0, openQuote
	}
	return args, end + 1, 0, nil
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0 }

// words splits a line by redis's rules: "..." with escapes and '...' without,
// each of which must be followed by a space.
func words(line []byte, args [][]byte) ([][]byte, bool) {
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return args, true
		}
		start := i
		for i < len(line) && !isSpace(line[i]) && line[i] != '"' && line[i] != '\'' {
			i++
		}
		word := line[start:i:i]
		for i < len(line) && !isSpace(line[i]) {
			switch c := line[i]; c {
			case '"', '\'':
				var ok bool
				if word, i, ok = quoted(line, i+1, c, word); !ok {
					return args, false
				}
			default:
				word = append(word, c) // copies: its capacity is its length
				i++
			}
		}
		args = append(args, word)
	}
}

// quoted appends to word what stands between quotes, from i on, and returns
// where the line goes on.
func quoted(line []byte, i int, quote byte, word []byte) (_ []byte, next int, ok bool) {
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case c == quote:
			return word, i + 1, i+1 == len(line) || isSpace(line[i+1])
		case c == '\\' && quote == '"' && i+3 < len(line) && line[i+1] == 'x' &&
			unhex(line[i+2]) >= 0 && unhex(line[i+3]) >= 0:
			word = append(word, byte(unhex(line[i+2])<<4|unhex(line[i+3])))
			i += 3
		case c == '\\' && quote == '"' && i+1 < len(line):
			i++
			word = append(word, unescape(line[i]))
		case c == '\\' && quote == '\'' && i+1 < len(line) && line[i+1] == '\'':
			i++
			word = append(word, '\'')
		default:
			word = append(word, c)
		}
	}
	return word, i, false
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func unescape(c byte) byte {
	if i := bytes.IndexByte([]byte("nrtba"), c); i >= 0 {
		return "\n\r\t\b\a"[i]
	}
	return c
}
