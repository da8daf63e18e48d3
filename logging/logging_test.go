package logging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/logging"
	"github.com/netco-go/netco/scheduler"
)

const child = "NETCO_LOGGING_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		play()
		return
	}
	testenv.Main(m)
}

// inCoroutine runs fn in a named coroutine of a Scheduler of its own.
func inCoroutine(t *testing.T, o scheduler.Options, name string, fn func()) {
	t.Helper()
	o.Watchdog = -1 // it would write of a slow machine's stalls, from a goroutine of its own
	s := testenv.Must(scheduler.New(o))
	testenv.OK(t, s.Start())
	testenv.NoError(t, s.Run(scheduler.Spawn{Fn: fn, Name: name}))
	testenv.NoError(t, s.Shutdown(context.Background()))
}

// jsonTo returns a logger of JSON lines into w, with slog's keys.
func jsonTo(w *bytes.Buffer, level zapcore.LevelEnabler) *zap.Logger {
	keys := zapcore.EncoderConfig{TimeKey: slog.TimeKey, LevelKey: slog.LevelKey,
		MessageKey: slog.MessageKey, NameKey: "logger", CallerKey: "caller",
		EncodeCaller: zapcore.ShortCallerEncoder, EncodeTime: zapcore.RFC3339TimeEncoder,
		EncodeLevel: zapcore.CapitalLevelEncoder, EncodeDuration: zapcore.StringDurationEncoder}
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(keys), zapcore.AddSync(w), level))
}

// lines parses what was written; no key may stand in a line twice.
func lines(t *testing.T, w *bytes.Buffer) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(w.String()) {
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for key := range fields {
			if n := strings.Count(line, fmt.Sprintf("%q:", key)); n != 1 {
				t.Errorf("%s stands %d times in %s", key, n, line)
			}
		}
		all = append(all, fields)
	}
	return all
}

func TestWhoWrote(t *testing.T) {
	var w bytes.Buffer
	l := logging.Here(logging.Here(jsonTo(&w, zap.InfoLevel)).With(zap.String("of", "the logger")))
	l.Info("goroutine", zap.Int("n", 1))
	inCoroutine(t, scheduler.Options{Processors: 1}, "worker", func() {
		l.Info("inside", zap.Int("n", 2))
		l.Debug("not wanted")
		l.Sugar().Infow("sugared", "n", 3)
		logging.Slog(l).WithGroup("g").Info("slogged", "n", 4)
	})
	inCoroutine(t, scheduler.Options{Processors: 1}, "", func() { l.Info("nameless") })
	all := lines(t, &w)
	if len(all) != 5 {
		t.Fatalf("%d lines: %s", len(all), w.String())
	}
	for i, f := range all {
		testenv.Equal(t, f["of"], "the logger", f, "lacks the logger's own field")
		_, processor := f["processor"]
		_, coroutine := f["coroutine"]
		if inside := i > 0; processor != inside || coroutine != inside {
			t.Errorf("%v: processor %v, coroutine %v", f, processor, coroutine)
		}
		if named := i > 0 && i < 4; (f["name"] == "worker") != named {
			t.Errorf("%v", f)
		}
	}
	if g, _ := all[3]["g"].(map[string]any); g["n"] != 4.0 {
		t.Errorf("slog's group: %v", all[3])
	}
}

// TestLibrarysLines: what the library logs names its coroutine, once, whether
// or not the logger was treated before.
func TestLibrarysLines(t *testing.T) {
	for _, treat := range []func(*zap.Logger) *zap.Logger{logging.Here,
		func(l *zap.Logger) *zap.Logger { return l }} {
		var w bytes.Buffer
		o := scheduler.Options{Processors: 1, Logger: treat(jsonTo(&w, zap.InfoLevel)),
			OnPanic: func(scheduler.PanicInfo) {}}
		inCoroutine(t, o, "unlucky", func() { panic(errors.New("fell over")) })
		var panicked map[string]any
		for _, f := range lines(t, &w) {
			if f["msg"] == "coroutine panicked" {
				panicked = f
			}
		}
		if panicked["processor"] != 0.0 || panicked["name"] != "unlucky" ||
			panicked["coroutine"] == nil ||
			!strings.Contains(fmt.Sprint(panicked["stack"]), "TestLibrarysLines") {
			t.Errorf("%v", panicked)
		}
	}
}

// TestSeveralCores: a core that does not want a line does not get it.
func TestSeveralCores(t *testing.T) {
	var info, errs bytes.Buffer
	l := logging.Here(zap.New(zapcore.NewTee(jsonTo(&info, zap.InfoLevel).Core(),
		jsonTo(&errs, zap.ErrorLevel).Core())))
	inCoroutine(t, scheduler.Options{Processors: 1}, "", func() { l.Info("one"); l.Error("two") })
	if a, b := len(lines(t, &info)), len(lines(t, &errs)); a != 2 || b != 1 {
		t.Errorf("%d lines for info and %d for errors, want 2 and 1", a, b)
	}
}

// play logs in a process of its own, to its stderr.
func play() {
	level := zap.NewAtomicLevelAt(zap.WarnLevel)
	l, err := logging.New(level)
	if err != nil {
		panic(err)
	}
	l.Info("too low")
	level.SetLevel(zap.DebugLevel)
	l.Debug("low enough now")
	for range 1000 {
		l.Warn("again and again")
	}
	logging.Slog(l).Error("by slog", slog.Duration("took", 1500))
}

func TestNew(t *testing.T) {
	began := time.Now()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"=1")
	var w bytes.Buffer
	cmd.Stderr = &w
	testenv.OK(t, cmd.Run())
	count := map[any]int{}
	for _, f := range lines(t, &w) {
		count[f["msg"]]++
		if at, _ := f["caller"].(string); f["ts"] == nil || f["level"] == nil ||
			!strings.HasPrefix(at, "logging/logging_test.go:") {
			t.Errorf("%v lacks time, level or caller", f)
		}
	}
	if count["too low"] != 0 || count["low enough now"] != 1 || count["by slog"] != 1 {
		t.Errorf("lines: %v", count)
	}
	// Each second that began meanwhile has had its first 100.
	if n, most := count["again and again"], 110*(1+int(time.Since(began)/time.Second)); n < 100 ||
		n > most {
		t.Errorf("%d of 1000 lines written, want 109, at most %d", n, most)
	}
}

// TestSlogHandler: the handler does what package slog wants of one.
func TestSlogHandler(t *testing.T) {
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return logging.Slog(jsonTo(&out, zap.InfoLevel)).Handler()
	}, func(t *testing.T) (line map[string]any) {
		testenv.OK(t, json.Unmarshal(out.Bytes(), &line))
		return line
	})
}

// TestSlogLevels: a level between two is the lower one, and the core's level
// holds.
func TestSlogLevels(t *testing.T) {
	var out bytes.Buffer
	l := logging.Slog(jsonTo(&out, zap.InfoLevel).Named("sub"))
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
		testenv.Equal(t, f["caller"], nil, "of a logger without callers, the caller")
	}
	testenv.Equal(t, got, want)
}
