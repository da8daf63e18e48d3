package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/netco-go/netco/cmd/netco-bench/internal/compare"
	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/stats"
)

const compareUsage = `A B [flags] [flags of load]

Loads A and B in alternating rounds, and says by each figure which one is better,
or that no difference is shown. A and B are URLs; with -a and -b, commands that
are started for each round and loaded at one URL; or results saved before.

  netco-bench compare tcp://old:7 tcp://new:7 -c 64 -d 5s
  netco-bench compare -a './old -addr :8080' -b './new -addr :8080' http://127.0.0.1:8080/ -rate 5k
  netco-bench compare before1.json,before2.json after1.json,after2.json
  netco-bench compare saved-by-compare.json
  netco-bench compare -side net='./echo net' -side netco='./echo netco' -side c=./floor tcp://127.0.0.1:7000

All flags of load are those of each round.`

// compareFlags are compare's own.
type compareFlags struct {
	a, b, json, title, names string
	commands                 [][2]string // of -side: a name and a command
	rounds                   int
	quiet                    bool

	targets, load []string
}

func parseCompare(args []string, stdout io.Writer) (*compareFlags, error) {
	c := &compareFlags{}
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	fs.StringVar(&c.a, "a", "", "`command` that starts A's server before each of its rounds")
	fs.StringVar(&c.b, "b", "", "`command` that starts B's")
	fs.Func("side", "`NAME=COMMAND` that starts a server, for more than two; the first is the "+
		"baseline", c.addSide)
	fs.IntVar(&c.rounds, "rounds", stats.MinPairs, fmt.Sprintf("rounds of each; fewer than %d "+
		"have no interval", stats.MinPairs))
	fs.StringVar(&c.names, "names", "", "what to call the sides, a `list`")
	fs.StringVar(&c.title, "title", "", "the comparison's `title`")
	fs.StringVar(&c.json, "json", "", "write all rounds to `file`")
	fs.BoolVar(&c.quiet, "q", false, "no line for each round")
	var err error
	if c.load, c.targets, err = parseWithLoad(fs, compareUsage, args, stdout); err != nil {
		return nil, err
	}
	if c.rounds < 1 {
		return nil, usagef("-rounds must be at least 1")
	}
	return c, refuseFlags(c.load, "rounds are written by -json", "csv", "o")
}

func (c *compareFlags) addSide(s string) error {
	name, command, ok := strings.Cut(s, "=")
	if !ok || name == "" || command == "" {
		return fmt.Errorf("%q is not NAME=COMMAND", s)
	}
	c.commands = append(c.commands, [2]string{name, command})
	return nil
}

func runCompare(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return compareBy(ctx, loadOn(nil), args, stdout, stderr)
}

func compareBy(ctx context.Context, load loader, args []string, stdout, stderr io.Writer) error {
	c, err := parseCompare(args, stdout)
	if err != nil {
		return err
	}
	if err := canWrite(c.json); err != nil {
		return err
	}
	file, failure := c.measure(ctx, load, stderr)
	if file == nil {
		return failure
	}
	for _, comparison := range file.Comparisons {
		comparison.Print(stdout)
	}
	if err := writeJSON(c.json, stdout, file); err != nil {
		return err
	}
	return failure
}

// measure returns what is to be compared; on a failure what there is of it.
func (c *compareFlags) measure(ctx context.Context, load loader, stderr io.Writer) (*compare.File,
	error) {
	if len(c.targets) > 0 && isFile(c.targets[0]) {
		return c.readFiles()
	}
	sides, err := c.sides()
	if err != nil {
		return nil, err
	}
	progress := stderr
	if c.quiet {
		progress = io.Discard
	}
	comparison, err := loadInRounds(ctx, load, sides, c.rounds, c.load, progress)
	comparison.Title = c.titleOf(comparison)
	if !comparison.Complete() {
		return nil, err
	}
	return compare.NewFile(comparison.Title, comparison), err
}

// A sideToLoad is a target, or what starts one before each round.
type sideToLoad struct {
	name, target string
	start        func(context.Context) (*serverCommand, string, error)
}

// loadInRounds compares sides under the load that args ask for. With an error
// comes what was measured until then.
func loadInRounds(ctx context.Context, load loader, sides []sideToLoad, rounds int, args []string,
	progress io.Writer) (*compare.Comparison, error) {
	var names []string
	for _, s := range sides {
		names = append(names, s.name)
	}
	return compare.Run(ctx, names, rounds, func(ctx context.Context, i int) (*result.Result,
		error) {
		return sides[i].load(ctx, load, args)
	}, func(round, side int, r *result.Result) {
		fmt.Fprintf(progress, "round %d of %d, %s: %s requests/s, p99 %s, errors %s\n", round+1,
			rounds, names[side], figure.Rate(r.RequestsPerSecond()),
			figure.Latency(float64(r.Response.At(99))), figure.Share(r.ErrorShare()))
	})
}

func (s *sideToLoad) load(ctx context.Context, load loader, args []string) (*result.Result, error) {
	if s.start == nil {
		return load(ctx, slices.Concat(args, []string{s.target}))
	}
	server, target, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	if server.direct {
		args = slices.Concat([]string{"-pid", strconv.Itoa(server.cmd.Process.Pid)}, args)
	}
	r, err := load(ctx, slices.Concat(args, []string{target}))
	if err != nil && server.hasEnded() {
		err = server.explain(s.name, fmt.Errorf("%w, and the server has ended", err))
	}
	return r, err
}

func (c *compareFlags) sides() (sides []sideToLoad, err error) {
	n := len(c.targets)
	commands := c.commands
	if c.a != "" || c.b != "" {
		commands = append([][2]string{{c.a, c.a}, {c.b, c.b}}, commands...)
	}
	switch {
	case slices.ContainsFunc(c.targets, isFile):
		return nil, usagef("a saved result cannot be compared with a URL")
	case (c.a == "") != (c.b == ""):
		return nil, usagef("-a and -b go together")
	case len(commands) == 1:
		return nil, usagef("one -side has nothing to be compared with")
	case len(commands) > 0 && n != 1 && n != len(commands):
		return nil, usagef("servers that are started need the URL that they accept at, or one " +
			"for each")
	case len(commands) > 0:
		for i, command := range commands {
			target := c.targets[min(i, n-1)]
			sides = append(sides, sideToLoad{name: command[0],
				start: func(ctx context.Context) (*serverCommand, string, error) {
					s, err := startServer(ctx, command[1], target)
					return s, target, err
				}})
		}
	case n < 2:
		return nil, usagef("two targets needed: compare A B, or compare -a 'COMMAND' -b " +
			"'COMMAND' URL")
	default:
		for _, t := range c.targets {
			sides = append(sides, sideToLoad{name: t, target: t})
		}
	}
	names, err := c.sideNames(len(sides))
	for i := range names {
		sides[i].name = names[i]
	}
	return sides, err
}

// sideNames returns the names that -names gives, none if it is not given.
func (c *compareFlags) sideNames(sides int) ([]string, error) {
	if c.names == "" {
		return nil, nil
	}
	names := strings.Split(c.names, ",")
	if len(names) != sides {
		return nil, usagef("-names %s: %d names for %d sides", c.names, len(names), sides)
	}
	return names, nil
}

func (c *compareFlags) titleOf(comparison *compare.Comparison) string {
	var names []string
	for _, s := range comparison.Sides {
		names = append(names, s.Name)
	}
	return cmp.Or(c.title, strings.Join(names, ", "))
}

// readFiles compares saved results: of each argument the files, one a round, or
// shows again what compare has saved.
func (c *compareFlags) readFiles() (*compare.File, error) {
	if len(c.load) > 0 || c.a != "" || c.b != "" || c.commands != nil {
		return nil, usagef("%s: saved results are not loaded again", strings.Join(c.load, " "))
	}
	comparison := &compare.Comparison{}
	for _, list := range c.targets {
		side := &compare.Side{Name: strings.TrimSuffix(list, ".json")}
		files, err := readAllSaved(strings.Split(list, ","))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			switch {
			case f.compare != nil && len(c.targets) == 1:
				return f.compare, nil
			case f.load == nil:
				return nil, usagef("%s is no result of load", f.name)
			}
			side.Rounds = append(side.Rounds, f.load)
		}
		comparison.Sides = append(comparison.Sides, side)
	}
	if len(comparison.Sides) < 2 {
		return nil, usagef("two results needed: compare a.json b.json")
	}
	given, err := c.sideNames(len(comparison.Sides))
	for i := range given {
		comparison.Sides[i].Name = given[i]
	}
	comparison.Title = c.titleOf(comparison)
	return compare.NewFile(comparison.Title, comparison), err
}
