// Package result is what one run of netco-bench load measured, as a value, as a
// JSON file, and as the sum of several.
//
// Histograms are HdrHistograms in nanoseconds, and are written with all their
// counts, so adding up the files of several machines loses nothing: the
// percentiles of the sum are those of all the requests. The percentiles beside
// them are there to be read, and are computed anew by Decode and Merge.
package result

import (
	"encoding/json"
	"fmt"
	"time"
)

// Schema is the version of the file format. A reader refuses others.
const Schema = 1

// Kind marks a file as one of load.
const Kind = "netco-bench load"

// Result is one run, or the sum of several that ran side by side.
type Result struct {
	Kind    string    `json:"kind"`
	Schema  int       `json:"schema"`
	Tool    string    `json:"tool"` // netco-bench's version
	Target  string    `json:"target"`
	Args    []string  `json:"args"`             // the command line behind "load"
	Merged  int       `json:"merged,omitempty"` // how many runs this is the sum of, 0 for one
	Start   time.Time `json:"start"`            // of the measured window
	Elapsed Duration  `json:"elapsed"`          // of the measured window

	Environment Environment `json:"environment"`
	Options     Options     `json:"options"`
	Totals      Totals      `json:"totals"`

	// Latency from the actual send, and from the intended time of sending. In a
	// closed loop both are the same.
	Service  Histogram `json:"service"`
	Response Histogram `json:"response"`
	Lateness Histogram `json:"lateness"` // intended to actual send; empty in a closed loop
	Connect  Histogram `json:"connect"`  // of each connection, the TLS handshake excluded
	TLS      Histogram `json:"tls"`      // of each handshake
	Classes  []Class   `json:"classes,omitempty"`

	Series     []Second    `json:"series"`
	Generator  Generator   `json:"generator"`
	Server     *Server     `json:"server,omitempty"`
	Thresholds []Threshold `json:"thresholds,omitempty"`

	// Interrupted is set if the run was ended by a signal, Failure if it could
	// not be finished. The rest is what was measured until then.
	Interrupted bool   `json:"interrupted,omitempty"`
	Failure     string `json:"failure,omitempty"`
}

// A Class is one kind of requests, and its part of Result.Response.
type Class struct {
	Name     string    `json:"name"`
	Response Histogram `json:"response"`
}

// AddClasses adds the latencies of classes, which are the same of all runs.
func (r *Result) AddClasses(classes []Class) {
	for i := range classes {
		if i == len(r.Classes) {
			r.Classes = append(r.Classes, Class{Name: classes[i].Name})
		}
		r.Classes[i].Response.Merge(&classes[i].Response)
	}
}

// Environment is the machine of the generator.
type Environment struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"` // that the generator may run on
	Go     string `json:"go"`
}

// Options are the load's settings, defaults filled in.
type Options struct {
	Protocol    string   `json:"protocol"` // tcp, udp, unix, tls, http, https, h2, redis, ws
	Connections int      `json:"connections"`
	Idle        int      `json:"idle,omitempty"`
	Threads     int      `json:"threads"`
	Rate        float64  `json:"rate,omitempty"` // per second, of an open loop; else 0
	Arrival     string   `json:"arrival,omitempty"`
	Ramp        string   `json:"ramp,omitempty"`
	Pipeline    int      `json:"pipeline"`
	Size        string   `json:"size,omitempty"`
	Work        string   `json:"work,omitempty"`     // -work
	Requests    uint64   `json:"requests,omitempty"` // -n
	Duration    Duration `json:"duration,omitempty"` // -d
	Warmup      Duration `json:"warmup,omitempty"`
	Timeout     Duration `json:"timeout"`
	Churn       int      `json:"churn,omitempty"`
	Verify      bool     `json:"verify,omitempty"`
	Method      string   `json:"method,omitempty"`
}

// Open reports whether the load is an open loop.
func (o *Options) Open() bool { return o.Rate > 0 || o.Ramp != "" }

// Totals are counts over the measured window.
type Totals struct {
	Requests uint64            `json:"requests"`           // answered, whatever the answer
	Intended uint64            `json:"intended,omitempty"` // of an open loop
	Errors   Errors            `json:"errors"`
	Status   map[string]uint64 `json:"status,omitempty"` // HTTP answers by status
	// FirstError is the text of the first failure, as the generator or the
	// server has put it.
	FirstError string `json:"first_error,omitempty"`
	BytesIn    uint64 `json:"bytes_in"`
	BytesOut   uint64 `json:"bytes_out"`
	Connects   uint64 `json:"connects"`       // over the whole run
	Handshake  uint64 `json:"tls_handshakes"` // over the whole run
}

// Errors are failures by class. One request or one dial counts once. An answer
// with an error status is also counted in Totals.Requests.
type Errors struct {
	Refused     uint64 `json:"refused"`
	Reset       uint64 `json:"reset"` // by the server, or its end of the stream before the answer
	Timeout     uint64 `json:"timeout"`
	WrongAnswer uint64 `json:"wrong_answer"`
	Status      uint64 `json:"status"` // HTTP 4xx and 5xx, a RESP error
	Other       uint64 `json:"other"`
}

// ErrorClass is one field of Errors, for tables.
type ErrorClass struct {
	Name  string
	Count uint64
}

// Classes returns all classes in a fixed order.
func (e *Errors) Classes() []ErrorClass {
	return []ErrorClass{
		{"refused", e.Refused}, {"reset", e.Reset}, {"timeout", e.Timeout},
		{"wrong answer", e.WrongAnswer}, {"status", e.Status}, {"other", e.Other},
	}
}

// Sum is the number of failures of all classes.
func (e *Errors) Sum() uint64 {
	return e.Refused + e.Reset + e.Timeout + e.WrongAnswer + e.Status + e.Other
}

// Add adds o to e.
func (e *Errors) Add(o *Errors) {
	e.Refused += o.Refused
	e.Reset += o.Reset
	e.Timeout += o.Timeout
	e.WrongAnswer += o.WrongAnswer
	e.Status += o.Status
	e.Other += o.Other
}

// Second is one second of the window, the last one possibly shorter. Latencies
// are those of Response, of the answers that came in this second; a sum of
// several runs has only the highest.
type Second struct {
	At       int      `json:"at"` // seconds since the start of the window
	Length   Duration `json:"length"`
	Requests uint64   `json:"requests"`
	Errors   uint64   `json:"errors"`
	BytesIn  uint64   `json:"bytes_in"`
	BytesOut uint64   `json:"bytes_out"`
	P50      int64    `json:"p50_ns"`
	P99      int64    `json:"p99_ns"`
	P999     int64    `json:"p99_9_ns"`
	Max      int64    `json:"max_ns"`
}

// Generator is what the load cost the generator itself.
type Generator struct {
	CPU   Duration `json:"cpu"`   // user and system, in the window
	Share float64  `json:"share"` // of the time of its threads, 0 to 1: near 1 it was the limit
	Peak  float64  `json:"peak"`  // the highest share of one second
}

// Server is what -pid measured of the server over the window.
type Server struct {
	PID         int      `json:"pid"`
	User        Duration `json:"user"`
	System      Duration `json:"system"`
	RSSStart    int64    `json:"rss_start"`
	RSSEnd      int64    `json:"rss_end"`
	RSSMax      int64    `json:"rss_max"`
	Voluntary   int64    `json:"voluntary_switches"`
	Involuntary int64    `json:"involuntary_switches"`
	Reads       int64    `json:"read_calls,omitempty"`  // 0 where /proc/PID/io is not readable
	Writes      int64    `json:"write_calls,omitempty"` // as Reads
}

// CPUPerRequest is the server's CPU time per answered request.
func (s *Server) CPUPerRequest(requests uint64) time.Duration {
	if requests == 0 {
		return 0
	}
	return time.Duration((s.User + s.System).nanoseconds() / int64(requests))
}

// Threshold is one limit given by -max.
type Threshold struct {
	Limit  string `json:"limit"` // as given, "p99=5ms"
	Value  string `json:"value"`
	Broken bool   `json:"broken"`
}

// RequestsPerSecond is the rate of answers over the window.
func (r *Result) RequestsPerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Totals.Requests) / r.Elapsed.Seconds()
}

// ErrorShare is the share of failures among all attempts, 0 to 1.
func (r *Result) ErrorShare() float64 {
	failed := r.Totals.Errors.Sum()
	attempts := r.Totals.Requests + failed - r.Totals.Errors.Status
	if attempts == 0 {
		return 0
	}
	return float64(failed) / float64(attempts)
}

// New returns an empty Result of this schema.
func New() *Result { return &Result{Kind: Kind, Schema: Schema} }

// Decode reads a file of a kind and a schema, this package's or another's.
func Decode[T any](b []byte, kind string, schema int) (*T, error) {
	var head struct {
		Kind   string `json:"kind"`
		Schema int    `json:"schema"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("not a file of %s: %w", kind, err)
	}
	switch {
	case head.Kind != kind:
		return nil, fmt.Errorf("not a file of %s: its kind is %q", kind, head.Kind)
	case head.Schema != schema:
		return nil, fmt.Errorf("written in schema %d, this netco-bench reads schema %d",
			head.Schema, schema)
	}
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return v, nil
}
