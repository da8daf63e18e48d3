package logging_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/slogtest"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/logging"
)

// jsonLogger writes lines of JSON, with slog's keys, to out.
func jsonLogger(out *bytes.Buffer) *zap.Logger {
	keys := zapcore.EncoderConfig{TimeKey: slog.TimeKey, LevelKey: slog.LevelKey,
		MessageKey: slog.MessageKey, NameKey: "logger", EncodeTime: zapcore.RFC3339TimeEncoder,
		EncodeLevel: zapcore.CapitalLevelEncoder, EncodeDuration: zapcore.StringDurationEncoder}
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(keys), zapcore.AddSync(out),
		zap.InfoLevel))
}

// TestSlogHandler: the handler does what package slog wants of one.
func TestSlogHandler(t *testing.T) {
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return logging.Slog(jsonLogger(&out)).Handler()
	}, func(t *testing.T) (line map[string]any) {
		testenv.OK(t, json.Unmarshal(out.Bytes(), &line))
		return line
	})
}

// TestSlogLevels: a level between two is the lower one, and the core's level
// holds.
func TestSlogLevels(t *testing.T) {
	var out bytes.Buffer
	l := logging.Slog(jsonLogger(&out).Named("sub"))
	for _, level := range []slog.Level{-5, slog.LevelInfo - 1, slog.LevelInfo, slog.LevelWarn - 1,
		slog.LevelWarn, slog.LevelError, slog.LevelError + 4} {
		l.LogAttrs(t.Context(), level, "m")
	}
	want := ""
	for _, level := range []string{"INFO", "INFO", "WARN", "ERROR", "ERROR"} {
		want += level + " sub "
	}
	got := ""
	for _, f := range lines(t, &out) {
		got += f["level"].(string) + " " + f["logger"].(string) + " "
	}
	testenv.Equal(t, got, want)
}
