package slogcore_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/netco-go/netco/internal/slogcore"
)

// TestCore: a zap logger's lines come out of slog with their level, message,
// fields and name, and only those that its handler wants.
func TestCore(t *testing.T) {
	var out bytes.Buffer
	h := slog.NewTextHandler(
		&out,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}},
	)
	l := zap.New(slogcore.New(h)).With(zap.Int("of", 3))
	l.Debug("below the handler's level")
	l.Info("one", zap.String("a", "b"))
	l.Named("sub").Warn("two", zap.Error(nil), zap.Error(errors.New("no")))
	l.With(zap.Bool("more", true)).Error("three")
	l.DPanic("four")
	want := `level=INFO msg=one of=3 a=b
level=WARN msg=two logger=sub of=3 error=no
level=ERROR msg=three of=3 more=true
level=ERROR msg=four of=3
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	if err := l.Sync(); err != nil {
		t.Error(err)
	}
	if l.Core().Enabled(zap.DebugLevel) || !l.Core().Enabled(zap.InfoLevel) {
		t.Error("its level is not the handler's")
	}
	if strings.Contains(out.String(), "below") {
		t.Error("a line below the level")
	}
}
