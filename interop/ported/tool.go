package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// left is what netco-vet is to leave to a person, or "" if the module is not
// ported by it.
func (m *module) left() string {
	text, _ := extras.ReadFile("testdata/left/" + m.name + ".txt")
	return string(text)
}

// leaves reports whether netco-vet has done its work and left something.
func leaves(err error) bool {
	exit := (*exec.ExitError)(nil)
	return errors.As(err, &exit) && exit.ExitCode() == 3
}

// byTool lets netco-vet port the copy in p.dir. What netco-vet says must be what
// is in testdata/left.
func (p *port) byTool(original string) error {
	tool := p.dir + ".netco-vet"
	if _, err := command(filepath.Join(root, "cmd", "netco-vet"), "go", "build", "-o", tool,
		"."); err != nil {
		return fmt.Errorf("netco-vet %w: %v", errDownload, err)
	}
	out, err := command(p.dir, tool, "port", "-netco", root, ".")
	if err != nil && !leaves(err) {
		return err
	}
	if got := string(out); got != p.left() {
		return fmt.Errorf("netco-vet port says\n%s\nwant\n%s", got, p.left())
	}
	if p.kind.page {
		return p.byPage(original, tool)
	}
	return nil
}
