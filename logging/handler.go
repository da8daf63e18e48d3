package logging

import (
	"context"
	"log/slog"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// handler is an slog.Handler that writes to a zap core. It is immutable.
type handler struct {
	core   zapcore.Core
	name   string   // the logger's
	caller bool     // lines name their callers, as the logger's do
	groups []string // opened by WithGroup, and without an attribute yet
}

// levelOf returns the nearest level of zap's that is not above l.
func levelOf(l slog.Level) zapcore.Level {
	switch {
	case l >= slog.LevelError:
		return zapcore.ErrorLevel
	case l >= slog.LevelWarn:
		return zapcore.WarnLevel
	case l >= slog.LevelInfo:
		return zapcore.InfoLevel
	}
	return zapcore.DebugLevel
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, l slog.Level) bool {
	return h.core.Enabled(levelOf(l))
}

// Handle implements slog.Handler.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	ce := h.core.Check(zapcore.Entry{
		Level: levelOf(r.Level), Time: r.Time, Message: r.Message, LoggerName: h.name,
	}, nil)
	if ce == nil {
		return nil
	}
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	if at := r.Source(); h.caller && at != nil {
		ce.Caller = zapcore.EntryCaller{Defined: true, PC: r.PC, File: at.File, Line: at.Line,
			Function: at.Function}
	}
	ce.Write(h.inGroups(fieldsOf(attrs))...)
	return nil
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := fieldsOf(attrs)
	if len(fields) == 0 {
		return h
	}
	return &handler{h.core.With(h.inGroups(fields)), h.name, h.caller, nil}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{h.core, h.name, h.caller, append(slices.Clip(h.groups), name)}
}

// inGroups puts fields into the groups that were opened, if there are any
// fields: slog leaves out an empty group.
func (h *handler) inGroups(fields []zap.Field) []zap.Field {
	if len(fields) == 0 {
		return nil
	}
	all := make([]zap.Field, 0, len(h.groups)+len(fields))
	for _, name := range h.groups {
		all = append(all, zap.Namespace(name))
	}
	return append(all, fields...)
}

// fieldsOf converts attributes to fields. As slog demands, it leaves out empty
// attributes and groups. The attributes of a group without a name stand in its
// place.
func fieldsOf(attrs []slog.Attr) (fields []zap.Field) {
	for _, a := range attrs {
		v := a.Value.Resolve()
		switch {
		case v.Kind() != slog.KindGroup:
			if !a.Equal(slog.Attr{}) {
				fields = append(fields, zap.Any(a.Key, v.Any()))
			}
		case a.Key == "":
			fields = append(fields, fieldsOf(v.Group())...)
		default:
			if in := fieldsOf(v.Group()); len(in) > 0 {
				fields = append(fields, zap.Dict(a.Key, in...))
			}
		}
	}
	return fields
}
