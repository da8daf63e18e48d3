package netco_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

var readmeProgram = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")

// TestReadmeProgram: the program in README.md can be built, and echoes.
func TestReadmeProgram(t *testing.T) {
	testenv.Long(t) // it builds a program
	text := testenv.Must(os.ReadFile("README.md"))
	m := readmeProgram.FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("README.md has no program")
	}
	ln := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	addr := ln.Addr().String()
	ln.Close() // its address was free a moment ago
	source := strings.Replace(m[1], "127.0.0.1:7000", addr, 1)
	dir := t.TempDir()
	file, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	testenv.OK(t, os.WriteFile(file, []byte(source), 0o600))
	if out, err := exec.Command("go", "build", "-o", bin, file).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	program := exec.Command(bin)
	testenv.OK(t, program.Start())
	defer program.Wait()
	defer program.Process.Kill()
	testenv.Until(t, "the program to listen", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	exchange(t, client(t, addr))
}

// TestReadmeRelay: the proxy pattern in README.md is that of the Example.
func TestReadmeRelay(t *testing.T) {
	readme := testenv.Must(os.ReadFile("README.md"))
	example := testenv.Must(os.ReadFile("example_relay_test.go"))
	start := strings.Index(string(example), "// relay ")
	const imported = "netco/net\" // a *net.TCPConn of package net is another type\n)\n\n"
	_, code, _ := strings.Cut(string(readme), imported)
	if start < 0 || !strings.HasPrefix(code, string(example[start:])+"```\n") {
		t.Error("README.md has not the import and the functions of example_relay_test.go")
	}
}
