package introspect

import (
	"encoding/json"
	"errors"
	"net/http"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netco-go/netco/processor"
)

// level is the page "loglevel".
func (h *handler) level() (*logLevelJSON, error) {
	if h.opt.AllowLogLevel == nil {
		return nil, errForbidden
	}
	return &logLevelJSON{Level: h.opt.AllowLogLevel.Level().String()}, nil
}

var errLevel = errors.New("want {\"level\":\"debug\"}, or info, warn, error, dpanic, panic, fatal")

// levels are the levels that the overview's form offers.
var levels = []string{"debug", "info", "warn", "error"}

// setLevel takes a PUT of JSON, or a POST of the overview's form.
func (h *handler) setLevel(w http.ResponseWriter, r *http.Request) error {
	if h.opt.AllowLogLevel == nil {
		return errForbidden
	}
	want := logLevelJSON{Level: r.PostForm.Get("level")}
	if r.PostForm == nil {
		if err := json.NewDecoder(r.Body).Decode(&want); err != nil {
			return badQuery{err}
		}
	}
	level, err := zapcore.ParseLevel(want.Level)
	if err != nil || want.Level == "" {
		return badQuery{errLevel}
	}
	// First: the new level may suppress the line.
	h.log("log level changed by hand", r, zap.Stringer("level", level))
	h.opt.AllowLogLevel.SetLevel(level)
	if r.Method == http.MethodPost {
		w.Header().Set("Location", "./")
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	writeJSON(w, http.StatusOK, logLevelJSON{Level: level.String()})
	return nil
}

// log records a change and its author.
func (h *handler) log(what string, r *http.Request, fields ...zap.Field) {
	h.src.logger().Warn(what, append(fields, zap.String("by", r.RemoteAddr))...)
}

// loggerOf returns the logger of a Scheduler.
func loggerOf(list []*processor.Processor) *zap.Logger {
	if len(list) == 0 {
		return zap.NewNop()
	}
	return list[0].Logger()
}
