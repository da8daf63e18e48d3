package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// limits are the flags. They do not change after parse.
type limits struct {
	http, lines, metrics string
	origins              []string
	processors           int

	conns, rooms        int
	name, text, history int // bytes, bytes, lines
	rate                float64

	queue, lost int // messages
	write       time.Duration

	ping, away, drop, message time.Duration
	grace                     time.Duration
}

func parse(args []string, errs io.Writer) (*limits, error) {
	var l limits
	var origins string
	f := flag.NewFlagSet("chat", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&l.http, "http", "127.0.0.1:8080", "`address` of the page and of /ws; empty: none")
	f.StringVar(&l.lines, "lines", "127.0.0.1:7000",
		"`address` for lines of text, as of netcat; empty: none")
	f.StringVar(&l.metrics, "metrics", "", "`address` to serve /metrics on; empty: none")
	f.StringVar(&origins, "origins", "", "`list` of other origins whose pages may open /ws, "+
		"such as https://chat.example,https://www.example")
	f.IntVar(&l.processors, "processors", 0,
		"Processors, which run coroutines; 0: one for each CPU")
	f.IntVar(&l.conns, "conns", 10000, "open connections of each address; more wait")
	f.IntVar(&l.rooms, "rooms", 100, "rooms; an empty one makes place for a new one")
	f.IntVar(&l.name, "name", 24, "bytes in the name of a client or a room")
	f.IntVar(&l.text, "text", 2000, "bytes in a message")
	f.IntVar(&l.history, "history", 50, "messages that a room keeps for newcomers")
	f.Float64Var(&l.rate, "rate", 20,
		"messages per second that are read of a client; 0: any number")
	f.IntVar(&l.queue, "queue", 256,
		"messages queued for a slow client, before the oldest is dropped")
	f.IntVar(&l.lost, "lost", 1000, "dropped messages after which a slow client is disconnected")
	f.DurationVar(&l.write, "write", 30*time.Second, "time in which a client must read something")
	f.DurationVar(&l.ping, "ping", 20*time.Second, "silence after which a WebSocket is pinged")
	f.DurationVar(&l.away, "away", time.Minute, "silence after which a client is shown as away")
	f.DurationVar(&l.drop, "drop", 5*time.Minute, "silence after which a client is disconnected")
	f.DurationVar(&l.message, "message", 10*time.Second, "time for a message that has begun")
	f.DurationVar(&l.grace, "grace", time.Second, "time for a last message to a client")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	l.origins = strings.FieldsFunc(origins, func(r rune) bool { return r == ',' || r == ' ' })
	if err := l.check(f.Args()); err != nil {
		fmt.Fprintln(errs, "chat:", err)
		return nil, err
	}
	return &l, nil
}

func (l *limits) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unknown argument %q", rest[0])
	case l.http == "" && l.lines == "":
		return errors.New("neither -http nor -lines has an address")
	case min(l.conns, l.rooms, l.name, l.text, l.queue, l.lost) < 1 || l.history < 0 || l.rate < 0:
		return errors.New("a limit is too small")
	case min(l.write, l.ping, l.away, l.drop, l.message, l.grace) <= 0:
		return errors.New("a time is not above 0")
	case l.drop < l.away:
		return errors.New("-drop is sooner than -away")
	}
	for _, o := range l.origins {
		if !strings.Contains(o, "://") || strings.HasSuffix(o, "/") {
			return fmt.Errorf("-origins: %q is not like https://chat.example", o)
		}
	}
	return nil
}
