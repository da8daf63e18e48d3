package testenv

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"
)

const chromium = "/usr/bin/chromium"

// NeedBrowser skips t where Chromium is not installed.
func NeedBrowser(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(chromium); err != nil {
		t.Skip("no browser: ", err)
	}
}

var complaint = regexp.MustCompile(`(?m)^.*(CONSOLE|Refused to|Content Security Policy).*$`)

// Complaint returns the first line of a browser's log that reports a fault of
// the page, or "".
func Complaint(log string) string { return complaint.FindString(log) }

// Browser runs a headless Chromium on a page and returns its output and its
// log.
func Browser(t testing.TB, url string, flags ...string) (out, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	profile, err := os.MkdirTemp("", "netco-browser")
	if err != nil {
		t.Fatal(err)
	}
	// Not TempDir, which fails if a process of the browser still writes there.
	defer os.RemoveAll(profile)
	args := append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-extensions", "--hide-scrollbars", "--disable-background-networking",
		"--disable-component-update", "--enable-logging=stderr", "--user-data-dir=" + profile},
		flags...)
	cmd := exec.CommandContext(ctx, chromium, append(args, url)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Kill the browser's own processes too.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // processes that it has left behind
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("%v: %v\n%.2000s", url, err, stderr.String())
	}
	return stdout.String(), stderr.String()
}
