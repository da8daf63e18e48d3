package result

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Merge adds up runs that loaded one target side by side, such as one on each
// of several machines: counts, histograms, connections and rates are summed,
// and the seconds of each are counted from its own start. What only one machine
// has, its environment, its command line and what was measured of the server,
// is the first one's.
func Merge(all ...*Result) (*Result, error) {
	if len(all) == 0 {
		return nil, errors.New("nothing to add up")
	}
	sum := New()
	sum.Tool, sum.Target, sum.Args = all[0].Tool, all[0].Target, all[0].Args
	sum.Environment, sum.Options, sum.Start = all[0].Environment, all[0].Options, all[0].Start
	sum.Server = all[0].Server
	sum.Options.Connections, sum.Options.Idle, sum.Options.Threads = 0, 0, 0
	sum.Options.Rate, sum.Options.Requests = 0, 0
	var threadSeconds float64 // of all generators' threads
	for i, r := range all {
		if err := alike(all[0], r); err != nil {
			return nil, fmt.Errorf("result %d of %d does not add up with the first: %w", i+1,
				len(all), err)
		}
		sum.Merged += max(r.Merged, 1)
		sum.addOptions(&r.Options)
		sum.addTotals(&r.Totals)
		sum.addHistograms(r)
		sum.addSeries(r.Series)
		sum.Elapsed = max(sum.Elapsed, r.Elapsed)
		if r.Start.Before(sum.Start) {
			sum.Start = r.Start
		}
		sum.Generator.CPU += r.Generator.CPU
		sum.Generator.Peak = max(sum.Generator.Peak, r.Generator.Peak)
		threadSeconds += r.Elapsed.Seconds() * float64(r.Options.Threads)
		sum.Interrupted = sum.Interrupted || r.Interrupted
		if sum.Failure == "" {
			sum.Failure = r.Failure
		}
	}
	if threadSeconds > 0 {
		sum.Generator.Share = sum.Generator.CPU.Seconds() / threadSeconds
	}
	return sum, nil
}

// alike reports why b's figures mean something else than a's.
func alike(a, b *Result) error {
	switch {
	case a.Target != b.Target:
		return fmt.Errorf("its target is %s, not %s", b.Target, a.Target)
	case a.Options.Open() != b.Options.Open():
		return errors.New("one is an open loop, the other a closed one")
	case a.Options.Pipeline != b.Options.Pipeline:
		return fmt.Errorf("its -pipeline is %d, not %d", b.Options.Pipeline, a.Options.Pipeline)
	case a.Options.Size != b.Options.Size:
		return fmt.Errorf("its -size is %s, not %s", b.Options.Size, a.Options.Size)
	case a.Options.Work != b.Options.Work:
		return fmt.Errorf("its -work is %q, not %q", b.Options.Work, a.Options.Work)
	}
	return nil
}

func (r *Result) addOptions(o *Options) {
	r.Options.Connections += o.Connections
	r.Options.Idle += o.Idle
	r.Options.Threads += o.Threads
	r.Options.Rate += o.Rate
	r.Options.Requests += o.Requests
}

func (r *Result) addTotals(t *Totals) {
	r.Totals.Requests += t.Requests
	r.Totals.Intended += t.Intended
	r.Totals.Errors.Add(&t.Errors)
	r.Totals.FirstError = cmp.Or(r.Totals.FirstError, t.FirstError)
	r.Totals.BytesIn += t.BytesIn
	r.Totals.BytesOut += t.BytesOut
	r.Totals.Connects += t.Connects
	r.Totals.Handshake += t.Handshake
	for status, n := range t.Status {
		if r.Totals.Status == nil {
			r.Totals.Status = map[string]uint64{}
		}
		r.Totals.Status[status] += n
	}
}

func (r *Result) addHistograms(o *Result) {
	r.Service.Merge(&o.Service)
	r.Response.Merge(&o.Response)
	r.Lateness.Merge(&o.Lateness)
	r.Connect.Merge(&o.Connect)
	r.TLS.Merge(&o.TLS)
	r.AddClasses(o.Classes)
}

func (r *Result) addSeries(seconds []Second) {
	for i := range seconds {
		s := &seconds[i]
		at, found := slices.BinarySearchFunc(r.Series, s.At, func(have Second, at int) int {
			return have.At - at
		})
		if !found {
			r.Series = slices.Insert(r.Series, at, Second{At: s.At})
		}
		sum := &r.Series[at]
		sum.Length = max(sum.Length, s.Length)
		sum.Requests += s.Requests
		sum.Errors += s.Errors
		sum.BytesIn += s.BytesIn
		sum.BytesOut += s.BytesOut
		sum.Max = max(sum.Max, s.Max)
	}
}
