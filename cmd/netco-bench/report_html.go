package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/netco-go/netco/cmd/netco-bench/internal/htmlreport"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

const reportUsage = `R.json... [-o out.html]

Writes results of load, merge, compare and sweep as one HTML page that needs
nothing else. Several results stand side by side.

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
	return writePage(*out, stdout, newPage(*title, files...))
}

func writePage(name string, stdout io.Writer, p htmlreport.Page) error {
	return writeFile(name, stdout, func(w io.Writer) error { return htmlreport.Write(w, p) })
}

const mergeUsage = `a.json b.json... [-o all.json]

Adds up runs that loaded one target at the same time, such as one on each of
several machines. Histograms are added with all their counts, so the
percentiles are those of all requests.

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
	var all []*result.Result
	for _, name := range names {
		r, err := result.ReadFile(name)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	sum, err := result.Merge(all...)
	if err != nil {
		return err
	}
	if *out != "-" {
		fmt.Fprintf(stderr, "%s: %d requests of %d runs\n", *out, sum.Totals.Requests, sum.Merged)
	}
	return writeJSON(*out, stdout, sum)
}
