package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/compare"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/sweep"
)

const reportUsage = `R.json... [-o out.md]

Writes results of load, merge, compare and sweep as Markdown tables. Those of
load and merge stand side by side, as compare has them.

  netco-bench load -json a.json tcp://127.0.0.1:7 && netco-bench report a.json
  netco-bench report before.json after.json -title 'with the new parser' -o both.md`

func runReport(_ context.Context, args []string, stdout, _ io.Writer) error {
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	out := fs.String("o", "-", "write to `file`; - is standard output")
	title := fs.String("title", "", "the report's `title`; else what was measured")
	names, err := parseAround(fs, reportUsage, args, stdout)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return usagef("no results named: report R.json... -o out.md")
	}
	files, err := readAllSaved(names)
	if err != nil {
		return err
	}
	return writeFile(*out, stdout, func(w io.Writer) error {
		writeReport(w, *title, files)
		return nil
	})
}

// writeReport writes comparisons, then sweeps. Loads are one comparison, in
// which each has one round.
func writeReport(w io.Writer, title string, files []saved) {
	all, loads := compare.NewFile(""), &compare.Comparison{}
	var sweeps []*sweep.Sweep
	for _, f := range files {
		switch {
		case f.load != nil:
			loads.Sides = append(loads.Sides, &compare.Side{Name: f.name,
				Rounds: []*result.Result{f.load}})
			loads.Title = cmp.Or(loads.Title, f.load.Target)
		case f.compare != nil:
			all.Comparisons = append(all.Comparisons, f.compare.Comparisons...)
			all.Title = cmp.Or(all.Title, f.compare.Title)
		default:
			sweeps = append(sweeps, f.sweep)
		}
	}
	if len(loads.Sides) > 0 {
		all.Comparisons = append([]*compare.Comparison{loads}, all.Comparisons...)
	}
	fmt.Fprintf(w, "# %s\n\n", cmp.Or(title, loads.Title, all.Title, "netco-bench"))
	if len(all.Comparisons) > 0 {
		all.MarkdownHead(w)
	}
	for _, c := range all.Comparisons {
		c.Markdown(w)
	}
	for _, s := range sweeps {
		s.Markdown(w)
	}
}

const mergeUsage = `a.json b.json... [-o all.json]

Adds up runs that loaded one target at the same time, such as one on each of
several machines. Histograms are added with all their counts, so the
percentiles are those of all requests. Files of compare are put into one.

  netco-bench merge host1.json host2.json -o all.json && netco-bench report all.json`

func runMerge(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("merge", flag.ContinueOnError)
	out := fs.String("o", "-", "write the sum to `file`; - is standard output")
	names, err := parseAround(fs, mergeUsage, args, stdout)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return usagef("no results named: merge a.json b.json... -o all.json")
	}
	files, err := readAllSaved(names)
	if err != nil {
		return err
	}
	if files[0].compare != nil {
		return mergeComparisons(*out, stdout, files)
	}
	var all []*result.Result
	for _, f := range files {
		if f.load == nil {
			return usagef("%s is no result of load", f.name)
		}
		all = append(all, f.load)
	}
	sum, err := result.Merge(all...)
	if err != nil {
		return err
	}
	if together := overlap(all); together < overlapWanted {
		fmt.Fprintf(stderr, "the runs were at the same time for %.0f %% of it: their sum is not "+
			"one load\n", 100*together)
	}
	if *out != "-" {
		fmt.Fprintf(stderr, "%s: %d requests of %d runs\n", *out, sum.Totals.Requests, sum.Merged)
	}
	return writeJSON(*out, stdout, sum)
}

// mergeComparisons puts the comparisons of files into one file.
func mergeComparisons(out string, stdout io.Writer, files []saved) error {
	sum := compare.NewFile(files[0].compare.Title)
	for _, f := range files {
		if f.compare == nil {
			return usagef("%s is no file of compare, as %s is", f.name, files[0].name)
		}
		if f.compare.Title != sum.Title {
			sum.Title = "Comparisons"
		}
		sum.Comparisons = append(sum.Comparisons, f.compare.Comparisons...)
	}
	return writeJSON(out, stdout, sum)
}

// overlapWanted is the part of the time that runs to be added up must share.
const overlapWanted = 0.9

// overlap is how long all runs were under way, as a part of the longest.
func overlap(all []*result.Result) float64 {
	var longest float64
	begin, end := all[0].Start, all[0].Start.Add(time.Duration(all[0].Elapsed))
	for _, r := range all {
		longest = max(longest, r.Elapsed.Seconds())
		if r.Start.After(begin) {
			begin = r.Start
		}
		if e := r.Start.Add(time.Duration(r.Elapsed)); e.Before(end) {
			end = e
		}
	}
	if longest == 0 {
		return 1
	}
	return max(0, end.Sub(begin).Seconds()/longest)
}
