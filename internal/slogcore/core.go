// Package slogcore lets a zap logger write to a handler of package log/slog.
package slogcore

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap/zapcore"
)

// New returns the core of a zap logger whose lines go to h.
func New(h slog.Handler) zapcore.Core { return &core{handler: h} }

// core is a zapcore.Core. It is not changed once it is made.
type core struct {
	handler slog.Handler
	fields  []zapcore.Field
}

// levelOf returns slog's level for l. Levels above an error have no name in
// slog.
func levelOf(l zapcore.Level) slog.Level {
	switch {
	case l <= zapcore.DebugLevel:
		return slog.LevelDebug
	case l == zapcore.InfoLevel:
		return slog.LevelInfo
	case l == zapcore.WarnLevel:
		return slog.LevelWarn
	}
	return slog.LevelError
}

// Enabled implements zapcore.LevelEnabler.
func (c *core) Enabled(l zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), levelOf(l))
}

// With implements zapcore.Core.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{c.handler, slices.Concat(c.fields, fields)}
}

// Check implements zapcore.Core.
func (c *core) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c *core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	r := slog.NewRecord(e.Time, levelOf(e.Level), e.Message, e.Caller.PC)
	if e.LoggerName != "" {
		r.AddAttrs(slog.String("logger", e.LoggerName))
	}
	for _, f := range slices.Concat(c.fields, fields) {
		enc := zapcore.NewMapObjectEncoder()
		f.AddTo(enc)
		// A field has one key, or two for an error with details.
		for _, key := range slices.Sorted(maps.Keys(enc.Fields)) {
			r.AddAttrs(slog.Any(key, enc.Fields[key]))
		}
	}
	if e.Stack != "" {
		r.AddAttrs(slog.String("stack", e.Stack))
	}
	return c.handler.Handle(context.Background(), r)
}

// Sync implements zapcore.Core. A handler has nothing to flush.
func (c *core) Sync() error { return nil }
