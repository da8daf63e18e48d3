package processor

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netco-go/netco/coroutine"
)

// LogCore returns a core that writes what core would, with three fields more on lines that are written on a Processor's thread:
// processor, coroutine and, if it has one, name. What it returns it returns as it is.
func LogCore(core zapcore.Core) zapcore.Core {
	if _, twice := core.(logCore); twice {
		return core
	}
	return logCore{core}
}

type logCore struct{ zapcore.Core }

// With implements zapcore.Core.
func (c logCore) With(fields []zapcore.Field) zapcore.Core { return logCore{c.Core.With(fields)} }

// Check implements zapcore.Core. The fields go in by With and not when the line is written: so it is still up to the core, which may
// be several or sample, whether and where it is.
func (c logCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(e.Level) {
		return ce
	}
	p := Here()
	if p == nil {
		return c.Core.Check(e, ce)
	}
	fields := make([]zapcore.Field, 1, 3)
	fields[0] = zap.Int("processor", p.cfg.Index)
	if co := coroutine.Current(); co != nil {
		fields = append(fields, zap.Uint64("coroutine", co.ID()))
		if name := co.Name(); name != "" {
			fields = append(fields, zap.String("name", name))
		}
	}
	return c.Core.With(fields).Check(e, ce)
}
