package net_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

const here = "github.com/netco-go/netco/net"

type variant struct {
	name string
	make func(source string) string
}

// named is a program's name as this variant, which is that of a package, too.
func (v *variant) named(program string) string {
	return program + "_" + strings.ReplaceAll(v.name, " ", "_")
}

// variants are what is made of programs that were written for package net. The
// first is the original.
var variants = []variant{
	{"original", func(source string) string { return source }},
	{"import changed", oneLine},
	{"go statements changed", coroutines},
}

// goroutinesOnly are the programs that wait on channels for code that is not
// their own.
var goroutinesOnly = map[string]bool{"http": true}

// TestPrograms: programs for package net do what they did after that one line
// was changed, on goroutines and on coroutines of one Processor.
func TestPrograms(t *testing.T) {
	testenv.Long(t) // it builds programs
	files, err := filepath.Glob("testdata/programs/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	sources := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources[strings.TrimSuffix(filepath.Base(file), ".go")] = string(text)
	}
	want := map[string]string{}
	for i, v := range variants {
		// One binary for each variant: what one of them links must not help
		// another.
		binary := build(t, sources, variants[i:i+1])
		for name := range sources {
			if v.name == "go statements changed" && goroutinesOnly[name] {
				continue
			}
			t.Run(name+"/"+v.name, func(t *testing.T) {
				got := output(t, binary, v.named(name))
				if v.name == "original" {
					want[name] = got
				}
				if got != want[name] || strings.Count(got, "\n") < 5 {
					t.Errorf("got\n%s\nwant\n%s", got, want[name])
				}
			})
		}
	}
}

const oldImport = "\t\"net\"\n"

// oneLine changes the import of package net.
func oneLine(source string) string {
	return strings.Replace(source, oldImport, fmt.Sprintf("\t%q\n", here), 1)
}

var goStatement = regexp.MustCompile(`(?m)^(\t+)go (\w+\(.*\))$`)

// coroutines changes the go statements too, and runs main as a coroutine.
func coroutines(source string) string {
	source = strings.Replace(source, oldImport,
		fmt.Sprintf("\t\"github.com/netco-go/netco\"\n\t%q\n", here), 1)
	source = goStatement.ReplaceAllString(source, "${1}netco.Go(func() { $2 })")
	return strings.Replace(source, "func main() {", `func main() {
	if err := netco.Start(netco.Options{Processors: 1}); err != nil {
		panic(err)
	}
	if err := netco.Run(program); err != nil {
		panic(err)
	}
}

func program() {`, 1)
}

// build makes one binary of some variants of all programs, which runs the one
// that its arguments name. The programs become packages of this module, which
// only the go command sees.
func build(t *testing.T, sources map[string]string, made []variant) string {
	t.Helper()
	dir := t.TempDir()
	folder, err := filepath.Abs("testdata/variant")
	if err != nil {
		t.Fatal(err)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	add := func(path, text string) {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		write(t, file, text)
		overlay.Replace[filepath.Join(folder, path)] = file
	}
	var imports, cases strings.Builder
	for program, source := range sources {
		for _, v := range made {
			name := v.named(program)
			source := strings.Replace(v.make(source), "package main", "package program", 1)
			add(name+"/program.go", strings.Replace(source, "func main()", "func Main()", 1))
			fmt.Fprintf(&imports, "import p%s %q\n", name, here+"/testdata/variant/"+name)
			fmt.Fprintf(&cases, "case %q: p%s.Main()\n", name, name)
		}
	}
	add("main.go", fmt.Sprintf("package main\nimport \"os\"\n%s\nfunc main() {\n switch "+
		"os.Args[1] {\n %s}\n}\n", &imports, &cases))
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), string(list))
	binary := filepath.Join(dir, "programs")
	if out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o",
		binary, "./testdata/variant").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// output runs a program and returns what it writes.
func output(t *testing.T, binary, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*testenv.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, name)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String() + stderr.String()
}
