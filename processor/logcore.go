package processor

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netco-go/netco/coroutine"
)

// LogCore returns a core that writes what core would, with three more fields on
// lines that are written on a Processor's thread: processor, coroutine and, if
// it has one, name. A core from LogCore is returned as it is.
func LogCore(core zapcore.Core) zapcore.Core {
	if _, twice := core.(logCore); twice {
		return core
	}
	return logCore{core}
}

type logCore struct{ zapcore.Core }

// With implements zapcore.Core.
func (c logCore) With(fields []zapcore.Field) zapcore.Core { return logCore{c.Core.With(fields)} }

// Check implements zapcore.Core. With adds the fields before the core checks
// the line. So a core that samples, or is made of several cores, still decides
// whether and where the line is written.
func (c logCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(e.Level) {
		return ce
	}
	p := Current()
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
