package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/compare"
	"github.com/netco-go/netco/cmd/netco-bench/internal/htmlreport"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

const reportUsage = `R.json... [-o out.html]

Writes results of load, merge, compare and sweep as one HTML page that needs
nothing else. Several results stand side by side. With -o out.md, comparisons
are written as Markdown tables.

  netco-bench load -json a.json tcp://127.0.0.1:7 && netco-bench report a.json -o a.html
  netco-bench report before.json after.json -title 'with the new parser' -o both.html`

func runReport(_ context.Context, args []string, stdout, _ io.Writer) error {
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	out := fs.String("o", "report.html", "write the page to `file`; - is standard output")
	title := fs.String("title", "", "the page's `title`; else what was measured")
	names, err := parseAround(fs, reportUsage, args, stdout)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return usagef("no results named: report R.json... -o out.html")
	}
	files, err := readAllSaved(names)
	if err != nil {
		return err
	}
	if strings.HasSuffix(*out, ".md") {
		return writeMarkdown(*out, *title, files)
	}
	return writePage(*out, stdout, newPage(*title, files...))
}

// writeMarkdown writes the tables of comparisons.
func writeMarkdown(name, title string, files []saved) error {
	return writeFile(name, nil, func(w io.Writer) error {
		for i, f := range files {
			if f.compare == nil {
				return usagef("%s: only files of compare are written as Markdown", f.name)
			}
			if i == 0 {
				fmt.Fprintf(w, "# %s\n\n", cmp.Or(title, f.compare.Title))
				f.compare.MarkdownHead(w)
			}
			for _, c := range f.compare.Comparisons {
				c.Markdown(w)
			}
		}
		return nil
	})
}

func writePage(name string, stdout io.Writer, p htmlreport.Page) error {
	return writeFile(name, stdout, func(w io.Writer) error { return htmlreport.Write(w, p) })
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
