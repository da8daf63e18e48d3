package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/gen"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
)

const (
	maxSize     = 16 << 20
	maxInFlight = 64 << 20 // bytes per connection
	minDuration = 10 * time.Millisecond
	maxRate     = 10_000_000
)

// parseNumber reads 10k, 1.5M, 2G: units of 1000.
func parseNumber(s string) (float64, error) { return parseUnits(s, 1000) }

func parseUnits(s string, base float64) (float64, error) {
	digits, factor := s, 1.0
	if s != "" {
		if i := strings.IndexByte("kmg", s[len(s)-1]|0x20); i >= 0 {
			digits, factor = s[:len(s)-1], math.Pow(base, float64(i+1))
		}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return v * factor, nil
}

// A value is a flag whose text set reads; shown is its default.
type value struct {
	shown string
	set   func(string) error
}

func (v *value) String() string     { return v.shown }
func (v *value) Set(s string) error { return v.set(s) }

// numberValue is a whole number between two limits.
func numberValue(n *int, least, most int) *value {
	shown := ""
	if *n != 0 {
		shown = strconv.Itoa(*n)
	}
	return &value{shown, func(s string) error {
		v, err := parseNumber(s)
		if err != nil || v != math.Trunc(v) || v < float64(least) || v > float64(most) {
			return fmt.Errorf("want a whole number from %d to %d, such as %d or 10k", least, most,
				max(least, 50))
		}
		*n = int(v)
		return nil
	}}
}

// durationValue is a time of least or more.
func durationValue(d *time.Duration, least time.Duration) *value {
	shown := ""
	if *d != 0 {
		shown = d.String()
	}
	return &value{shown, func(s string) error {
		v, err := time.ParseDuration(s)
		if err != nil || v < least {
			return fmt.Errorf("want a time of %v or more, such as 500ms, 10s or 1m30s", least)
		}
		*d = v
		return nil
	}}
}

// setCount reads a number of requests; 0: no limit.
func (lc *loadConfig) setCount(s string) error {
	v, err := parseNumber(s)
	if err != nil || v != math.Trunc(v) || v < 0 || v > 1e15 {
		return fmt.Errorf("want a whole number such as 5000 or 1M; 0: no limit")
	}
	lc.Requests = uint64(v)
	return nil
}

// setRate reads requests per second; 0: a closed loop.
func (lc *loadConfig) setRate(s string) error {
	v, err := parseNumber(strings.TrimSuffix(s, "/s"))
	if err != nil || v < 0 || v > maxRate {
		return fmt.Errorf("want requests per second up to %d, such as 500 or 10k; 0: a closed "+
			"loop", maxRate)
	}
	lc.Rate = v
	return nil
}

func (lc *loadConfig) setMix(s string) error {
	var mix gen.Mix
	for part := range strings.SplitSeq(s, ",") {
		size, weight, weighted := strings.Cut(part, ":")
		v, err := parseUnits(size, 1024)
		if err != nil || v != math.Trunc(v) || v < 1 || v > maxSize {
			return fmt.Errorf("want bytes from 1 to %d, such as 64 or 4k, or a mix with weights "+
				"such as 64:80,4k:20", maxSize)
		}
		share := gen.Share{Size: int(v), Weight: 1}
		if weighted {
			if share.Weight, err = strconv.Atoi(weight); err != nil || share.Weight < 1 ||
				share.Weight > 1_000_000 {
				return fmt.Errorf("weight %q: want a whole number from 1 to 1000000, such as in "+
					"64:80,4k:20", weight)
			}
		}
		mix = append(mix, share)
	}
	lc.Mix = mix
	return nil
}

func (lc *loadConfig) setWork(s string) error {
	mix, err := work.Parse(s)
	if lc.Classes = nil; len(mix) > 1 {
		lc.Classes = mix
	}
	return err
}

func (lc *loadConfig) addHeader(s string) error {
	if name, _, ok := strings.Cut(s, ":"); !ok || strings.TrimSpace(name) == "" ||
		strings.ContainsAny(s, "\r\n") {
		return fmt.Errorf("want 'Name: value'")
	}
	lc.Header = append(lc.Header, s)
	return nil
}

// limit is one -max.
type limit struct {
	text    string
	percent float64 // of a latency, else 0
	metric  string  // percentile, max, mean, errors (their number) or share
	most    float64 // ns, a number, or a share
}

func (lc *loadConfig) addLimit(s string) error {
	wrong := fmt.Errorf("want p50, p99.9 or the like, max or mean with a time, or errors with a " +
		"number or percentage: p99=5ms, errors=0.1%%")
	metric, value, ok := strings.Cut(s, "=")
	if !ok {
		return wrong
	}
	l := limit{text: s, metric: metric}
	var err error
	if metric == "errors" {
		digits, percent := strings.CutSuffix(value, "%")
		if l.most, err = parseNumber(digits); percent {
			l.metric, l.most = "share", l.most/100
		}
	} else {
		var d time.Duration
		d, err = time.ParseDuration(value)
		l.most = float64(d)
		if p, isPercentile := strings.CutPrefix(metric, "p"); isPercentile && err == nil {
			l.metric = "percentile"
			l.percent, err = strconv.ParseFloat(p, 64)
			if !(l.percent > 0 && l.percent <= 100) {
				return wrong
			}
		} else if metric != "max" && metric != "mean" {
			return wrong
		}
	}
	if err != nil || l.most < 0 {
		return wrong
	}
	lc.limits = append(lc.limits, l)
	return nil
}

// check compares a result with l.
func (l *limit) check(r *result.Result) result.Threshold {
	var v float64
	var text string
	switch l.metric {
	case "errors":
		v = float64(r.Totals.Errors.Sum())
		text = strconv.FormatUint(r.Totals.Errors.Sum(), 10)
	case "share":
		v = r.ErrorShare()
		text = fmt.Sprintf("%.3g%%", 100*v)
	case "percentile":
		v = float64(r.Response.At(l.percent))
	case "max":
		v = float64(r.Response.Max())
	case "mean":
		v = r.Response.Mean()
	}
	if text == "" {
		text = latencyText(int64(v))
	}
	return result.Threshold{Limit: l.text, Value: text, Broken: v > l.most}
}
