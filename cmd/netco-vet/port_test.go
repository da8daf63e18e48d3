package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// somethingLeft is the exit code of a port that leaves something.
const somethingLeft = 3

// offline is the environment of a port that asks for no module but those that
// netco's own tests need.
func offline() []string {
	return append(alone(), "GOPROXY=off")
}

// ported runs netco-vet port and returns what it writes, and its exit code.
func ported(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(tool, append([]string{"port"}, args...)...)
	cmd.Env = offline()
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// archive writes the files of a text, which begin with a line "-- name --".
func archive(t *testing.T, dir, text string) {
	t.Helper()
	var name string
	var to bytes.Buffer
	flush := func() {
		if name == "" {
			return
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777),
			os.WriteFile(filepath.Join(dir, name), to.Bytes(), 0o666)); err != nil {
			t.Fatal(err)
		}
		to.Reset()
	}
	for line := range strings.Lines(text) {
		if begin, ok := strings.CutPrefix(line, "-- "); ok {
			flush()
			name = strings.TrimSuffix(begin, " --\n")
		} else {
			to.WriteString(line)
		}
	}
	flush()
	sums, err := os.ReadFile(filepath.Join(root(t), "go.sum"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// contents are a folder's files.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// mixed is a module with what a port must leave.
func mixed(t *testing.T) (dir, outside string) {
	t.Helper()
	dir = t.TempDir()
	text, err := os.ReadFile("testdata/mixed.txt")
	if err != nil {
		t.Fatal(err)
	}
	archive(t, dir, string(text))
	outside = filepath.Join(t.TempDir(), "outside.go")
	if err := errors.Join(
		os.WriteFile(outside, []byte("package serve\n\nimport \"net\"\n\nvar _ net.Conn\n"), 0o666),
		os.Symlink(outside, filepath.Join(dir, "serve", "link.go"))); err != nil {
		t.Fatal(err)
	}
	return dir, outside
}

// TestPortMixed: what cannot be ported stays, with all that exchanges values
// with it, in other packages too; the rest goes, and all compiles. What stays is
// listed with the reason.
func TestPortMixed(t *testing.T) {
	dir, outside := mixed(t)
	before, target := contents(t, dir), contents(t, filepath.Dir(outside))
	diff, code := ported(t, "-d", "-netco", root(t), dir+"/...")
	if code != somethingLeft || !maps.Equal(contents(t, dir), before) {
		t.Fatalf("a dry run: %d\n%s", code, diff)
	}
	out, code := ported(t, "-netco", root(t), dir)
	if code != somethingLeft {
		t.Fatal(code, out)
	}
	report := strings.ReplaceAll(out, "changed, in", "to change, in")
	if !strings.Contains(diff, report) {
		t.Errorf("a dry run reports\n%s", diff)
	}
	text, err := os.ReadFile("testdata/mixed.golden")
	if *update {
		err = os.WriteFile("testdata/mixed.golden", []byte(out), 0o666)
	}
	if err != nil || out != string(text) {
		t.Errorf("mixed.golden should be\n%s\n%v", out, err)
	}
	after := contents(t, dir)
	var changed []string
	for name := range after {
		if after[name] != before[name] {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	want := []string{"go.mod", "serve/lines.go", "serve/serve.go", "serve/serve_test.go"}
	if !slices.Equal(changed, want) {
		t.Errorf("changed: %q, want %q", changed, want)
	}
	if !maps.Equal(contents(t, filepath.Dir(outside)), target) {
		t.Error("a file outside has been changed")
	}
	if text, failed := run(t, dir, "go", "vet", "./serve", "./dial", "./user"); failed {
		t.Error(text)
	}
	handler := "\t\tif _, err := netco.Go(func() { handle(s, c) }); err != nil {\n" +
		"\t\t\tgo handle(s, c)\n\t\t}\n"
	if !strings.Contains(after["serve/serve.go"], handler) {
		t.Error(after["serve/serve.go"])
	}
	cmd := exec.Command(tool, "port", "./user", "./dial/...")
	cmd.Env, cmd.Dir = offline(), dir
	again, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != somethingLeft || strings.Contains(string(again), "serve/") ||
		!maps.Equal(contents(t, dir), after) {
		t.Errorf("a second port, of some packages: %s", again)
	}
}

// TestPortRefuses: modules that would be broken are refused before anything
// changes.
func TestPortRefuses(t *testing.T) {
	for _, c := range []struct{ name, files, want string }{
		{"vendored", "-- go.mod --\nmodule example.com/m\n\ngo 1.25.0\n-- m.go --\npackage m\n" +
			"-- vendor/modules.txt --\n", "go mod vendor"},
		{"nothing compiles", "-- go.mod --\nmodule example.com/m\n\ngo 1.25.0\n-- m.go --\n" +
			"package m\n\nvar _ int = \"\"\n", "no package loads"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			archive(t, dir, c.files)
			before := contents(t, dir)
			out, code := ported(t, "-netco", root(t), dir)
			if code != 1 || !strings.Contains(out, c.want) || !maps.Equal(contents(t, dir), before) {
				t.Errorf("%d: %s", code, out)
			}
		})
	}
}

// TestPortInterrupted: a signal ends a port at once, and nothing is changed.
func TestPortInterrupted(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		dir, bin := t.TempDir(), t.TempDir()
		archive(t, dir, "-- go.mod --\nmodule example.com/m\n\ngo 1.25.0\n-- m.go --\npackage m\n")
		before := contents(t, dir)
		begun := filepath.Join(bin, "begun")
		// A go command that reports that it runs, and then waits for good.
		script := "#!/bin/sh\n[ \"$1\" = env ] && echo " + filepath.Join(dir, "go.mod") +
			" && exit\necho > " + begun + "\nexec sleep 600\n"
		if err := errors.Join(syscall.Mkfifo(begun, 0o666),
			os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o777)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(tool, "port", "-netco", root(t), dir)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(begun); err != nil { // until the script writes
			t.Fatal(err)
		}
		cmd.Process.Signal(sig)
		cmd.Wait()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "interrupted") ||
			!maps.Equal(contents(t, dir), before) {
			t.Errorf("%v: %v\n%s", sig, cmd.ProcessState, &out)
		}
	}
}
