// Package logging makes go.uber.org/zap loggers for daemons on netco; their
// lines say which coroutine wrote them.
//
//	level := zap.NewAtomicLevelAt(zap.InfoLevel)
//	log, err := logging.New(level)
//	...
//	netco.Start(netco.Options{Logger: log})
//	http.Handle("/log/level", level) // GET and PUT, by zap itself
//
// Without Options.Logger or Options.Slog the library only writes reports to
// stderr, ten at most (see Options.Logger). With a logger it logs the
// following, each line with the fields processor, coroutine and name where they
// apply:
//
//	Info   scheduler started, scheduler ended, a stall ended
//	Warn   a Processor stalls, accepting pauses, accepting goes on, a limit is
//	       reached
//	Error  a coroutine panicked, with its stack
//
// A line is written by the coroutine that logs it, in a system call that can
// block: stderr should be a file, or a pipe that is read.
package logging

import (
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netco-go/netco/processor"
)

// In each second the first sampleFirst lines of one level and message are
// written, and then one of sampleThen lines: repeated lines must not fill the
// disk or delay their writer.
const (
	sampleFirst = 100
	sampleThen  = 100
)

// New returns a logger that writes JSON lines to stderr, those of level and
// above: a zapcore.Level, or a zap.AtomicLevel, which may be changed at any
// time. In each second it writes the first 100 lines of one level and message,
// and then every 100th. Its lines say which coroutine wrote them, as with
// [Here].
func New(level zapcore.LevelEnabler) (*zap.Logger, error) {
	c := zap.NewProductionConfig()
	c.Level = zap.NewAtomicLevelAt(zap.DebugLevel)
	c.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	c.EncoderConfig.EncodeDuration = zapcore.StringDurationEncoder
	c.Sampling = &zap.SamplingConfig{Initial: sampleFirst, Thereafter: sampleThen}
	c.DisableStacktrace = true
	l, err := c.Build()
	if err != nil {
		return nil, err
	}
	leveled, err := zapcore.NewIncreaseLevelCore(l.Core(), level)
	if err != nil {
		return nil, err
	}
	return Here(
		l.WithOptions(zap.WrapCore(func(zapcore.Core) zapcore.Core { return leveled })),
	), nil
}

// Here returns a logger that writes the lines of l, and adds fields to lines
// written in coroutines: processor, the Processor's number; coroutine, the
// coroutine's ID; name, if the coroutine has one. Lines of ordinary goroutines
// stay as they are. A logger for Options.Logger does not need Here: a Scheduler
// adds the fields itself.
func Here(l *zap.Logger) *zap.Logger { return l.WithOptions(zap.WrapCore(processor.LogCore)) }

// Slog returns an slog.Logger whose lines go where l's go, and say which
// coroutine wrote them. They name their caller if l's lines do.
func Slog(l *zap.Logger) *slog.Logger {
	return slog.New(&handler{core: Here(l).Core(), name: l.Name(), caller: addsCaller(l)})
}

// addsCaller reports whether l adds the caller to its lines, by the start of a
// line that is not written.
func addsCaller(l *zap.Logger) bool {
	anything := zapcore.NewCore(nil, nil, zap.InfoLevel)
	return l.WithOptions(zap.WrapCore(func(zapcore.Core) zapcore.Core { return anything })).
		Check(zap.InfoLevel, "").Caller.Defined
}
