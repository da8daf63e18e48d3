package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/compare"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/sweep"
	"github.com/netco-go/netco/internal/testenv"
)

// loaded returns a result of one second.
func loaded(target string, requests int, latency time.Duration) *result.Result {
	r := result.New()
	r.Target, r.Elapsed = target, result.Duration(time.Second)
	r.Options.Connections = 4
	r.Totals.Requests = uint64(requests)
	for range requests {
		r.Response.Record(int64(latency))
	}
	return r
}

// savedFiles writes a file of each kind into a folder and returns that.
func savedFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	a, b := loaded("tcp://a:1", 100, time.Millisecond), loaded("tcp://a:1", 300, 3*time.Millisecond)
	late := loaded("tcp://a:1", 100, time.Millisecond)
	late.Start = late.Start.Add(time.Hour)
	other := loaded("tcp://b:1", 1, time.Second)
	for name, value := range map[string]any{
		"a.json": a, "b.json": b, "other.json": other, "late.json": late,
		"compare.json": compare.NewFile("a and b", &compare.Comparison{Sides: []*compare.Side{
			{Name: "a", Rounds: []*result.Result{a}}, {Name: "b", Rounds: []*result.Result{b}}}}),
		"sweep.json": &sweep.Sweep{Kind: sweep.Kind, Schema: sweep.Schema, Target: "tcp://a:1",
			Factor: 5, Capacity: 100, Knee: 100,
			Closed: a, Steps: []sweep.Step{{Rate: 100, Result: a}}},
		"strange.json": map[string]any{"kind": "strange"},
	} {
		testenv.OK(t, writeJSON(filepath.Join(dir, name), nil, value))
	}
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "no.json"), []byte("no JSON"), 0o600))
	return dir
}

// TestSavedCommands runs report and merge in a folder with files of each kind.
func TestSavedCommands(t *testing.T) {
	t.Chdir(savedFiles(t))
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
		file, content  string
	}{
		{"report", exitUsage, "", "no results named", "", ""},
		{"report -h", exitOK, "netco-bench report R.json... [-o out.md]", "", "", ""},
		{"report -nonsense", exitUsage, "", "-nonsense", "", ""},
		{"report gone.json", exitFailed, "", "gone.json", "", ""},
		{"report no.json", exitFailed, "", "no.json is no file of netco-bench", "", ""},
		{"report strange.json", exitFailed, "", `strange.json: not a file of netco-bench load: its kind is "strange"`, "", ""},
		{"report a.json", exitOK, "# tcp://a:1\n\nMedians", "", "", ""},
		{"report a.json -o out.md b.json", exitOK, "", "", "out.md", "| b | 300 3.00 |"},
		{"report -o - -title mine -- a.json", exitOK, "# mine\n", "", "", ""},
		{"report sweep.json", exitOK, "# netco-bench\n\n## Open loops", "", "", ""},
		{"report sweep.json compare.json", exitOK, "# a and b\n\nMedians", "", "", ""},
		{"report a.json -o gone/x.md", exitFailed, "", "gone/x.md", "", ""},
		{"merge", exitUsage, "", "no results named", "", ""},
		{"merge a.json other.json", exitFailed, "", "its target is tcp://b:1, not tcp://a:1",
			"", ""},
		{"merge a.json sweep.json", exitUsage, "", "sweep is no result of load", "", ""},
		{"merge compare.json a.json", exitUsage, "", "a is no file of compare", "", ""},
		{"merge compare.json compare.json -o two.json", exitOK, "", "", "two.json",
			`"title": "a and b"`},
		{"report two.json -o two.md", exitOK, "", "", "two.md", "| b | 300 3.00 |"},
		{"merge a.json b.json", exitOK, `"requests": 400`, "", "", ""},
		{"merge a.json b.json -o all.json", exitOK, "", "all.json: 400 requests of 2 runs",
			"all.json", `"merged": 2`},
		{"merge all.json b.json", exitOK, `"merged": 3`, "", "", ""},
		{"merge a.json late.json", exitOK, `"requests": 200`, "at the same time for 0 % of it",
			"", ""},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(c.args), &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) ||
			!strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%q: exit code %d, want %d\nstdout: %.300s\nstderr: %s", c.args, code, c.code,
				&stdout, &stderr)
		}
		if c.file == "" {
			continue
		}
		if text, err := os.ReadFile(c.file); err != nil ||
			!strings.Contains(string(text), c.content) {
			t.Errorf("%q: %v, no %q in %s", c.args, err, c.content, c.file)
		}
	}
	sum := testenv.Must(readSaved("all.json")).load
	if p50, p10 := sum.Response.At(50), sum.Response.At(10); p50 < 2.9e6 || p50 > 3.1e6 ||
		p10 < 0.9e6 || p10 > 1.1e6 {
		t.Errorf("the sum's p10 and p50 are %d and %d", p10, p50)
	}
}

func TestOverlap(t *testing.T) {
	at := func(start, seconds int) *result.Result {
		return &result.Result{Start: time.Unix(int64(start), 0),
			Elapsed: result.Duration(time.Duration(seconds) * time.Second)}
	}
	for name, c := range map[string]struct {
		runs []*result.Result
		want float64
	}{
		"one":       {[]*result.Result{at(5, 10)}, 1},
		"at once":   {[]*result.Result{at(5, 10), at(5, 10)}, 1},
		"shifted":   {[]*result.Result{at(0, 10), at(2, 10), at(1, 10)}, 0.8},
		"apart":     {[]*result.Result{at(0, 10), at(20, 10)}, 0},
		"one ended": {[]*result.Result{at(0, 10), at(0, 5)}, 0.5},
		"no time":   {[]*result.Result{at(0, 0)}, 1},
	} {
		if got := overlap(c.runs); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestCanWrite(t *testing.T) {
	t.Chdir(t.TempDir())
	testenv.OK(t, os.WriteFile("old", []byte("kept"), 0o600))
	testenv.OK(t, canWrite("new", "old", "-", ""))
	if text, _ := os.ReadFile("old"); string(text) != "kept" {
		t.Errorf("the old file holds %q", text)
	}
	if _, err := os.Stat("new"); err == nil {
		t.Error("an empty file is left")
	}
	if err := canWrite("old", "gone/x"); err == nil {
		t.Error("no error")
	}
}
