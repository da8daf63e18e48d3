package netco_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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
	addr := freeAddr(t)
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
	c := dialUntil(t, addr, time.Minute)
	defer c.Close()
	const hello = "hello"
	testenv.Must(io.WriteString(c, hello))
	answer := make([]byte, len(hello))
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != hello {
		t.Errorf("%q, %v", answer, err)
	}
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

// freeAddr returns an address that was free a moment ago.
func freeAddr(t *testing.T) string {
	ln := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	defer ln.Close()
	return ln.Addr().String()
}

// dialUntil connects to a program that may not listen yet.
func dialUntil(t *testing.T, addr string, patience time.Duration) net.Conn {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.SetDeadline(deadline)
			return c
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
