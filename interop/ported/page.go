package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// pageFile shows ports of some modules, in netco's folder.
const pageFile = "docs/PORTING.md"

// onPage are the modules that the page shows.
var onPage = map[string]bool{"socks5": true, "tcpproxy": true, "ssh": true}

// The stages of a module in the page, in the order in which they are made.
const (
	stageSays = "says" // what netco-vet port writes
	stagePort = "port" // what it changes
	stageFix  = "fix"  // what netco-vet -fix changes then
	stageHand = "hand" // what is changed by hand then
)

// block is a fenced text of the page, with its module and stage in the fence.
type block struct {
	module, stage, text string
}

var fence = regexp.MustCompile("(?ms)^```(?:diff|text) (\\w+) (\\w+)\n(.*?)^```$")

// readPage returns the page's blocks.
func readPage() ([]block, error) {
	text, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		return nil, err
	}
	var found []block
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		found = append(found, block{m[1], m[2], m[3]})
	}
	return found, nil
}

// hunk is one change of a file.
type hunk struct{ file, before, after string }

// hunks are the changes in a block: a line "--- file", then hunks, with a line
// "@@" between two.
func (b block) hunks() (found []hunk, err error) {
	for line := range strings.Lines(b.text) {
		name, isFile := strings.CutPrefix(line, "--- ")
		switch {
		case isFile:
			found = append(found, hunk{file: strings.TrimSpace(name)})
			continue
		case len(found) == 0:
			return nil, fmt.Errorf("a diff of %s has no file", b.module)
		case strings.HasPrefix(line, "@@"):
			found = append(found, hunk{file: found[len(found)-1].file})
			continue
		}
		h := &found[len(found)-1]
		rest := strings.TrimLeft(line[:1], " +-") + line[1:]
		if line[0] != '+' {
			h.before += rest
		}
		if line[0] != '-' {
			h.after += rest
		}
	}
	for _, h := range found {
		if h.before == h.after || h.before == "" {
			return nil, fmt.Errorf("a hunk of %s, %s changes nothing", b.module, h.file)
		}
	}
	return found, nil
}

// byPage makes of the copy in p.dir, which netco-vet has ported, what the page
// says of it. What it shows must be what was done and what is there.
func (p *port) byPage(original, tool string) error {
	blocks, err := readPage()
	if err != nil {
		return err
	}
	ported := p.dir + ".ported"
	if err := os.CopyFS(ported, os.DirFS(p.dir)); err != nil {
		return err
	}
	if _, err := command(p.dir, tool, "-fix", "./..."); err != nil && !leaves(err) {
		return err
	}
	for _, b := range blocks {
		if b.module != p.name {
			continue
		}
		switch b.stage {
		case stagePort:
			err = b.shows(original, ported)
		case stageFix:
			err = b.shows(ported, p.dir)
		case stageHand:
			err = b.apply(p.dir)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", pageFile, err)
		}
	}
	if _, err := command(p.dir, tool, "./..."); err != nil {
		return fmt.Errorf("%s leaves something of %s: %w", pageFile, p.name, err)
	}
	return nil
}

// shows holds a block against the files before and after the change.
func (b block) shows(before, after string) error {
	hunks, err := b.hunks()
	if err != nil {
		return err
	}
	for _, h := range hunks {
		for _, side := range []struct{ dir, text string }{{before, h.before}, {after, h.after}} {
			text, err := os.ReadFile(filepath.Join(side.dir, h.file))
			if err != nil {
				return err
			}
			if !strings.Contains(string(text), side.text) {
				return fmt.Errorf("%s, stage %s: %s has not\n%s", b.module, b.stage, h.file,
					side.text)
			}
		}
	}
	return nil
}

// apply makes the changes of a block.
func (b block) apply(dir string) error {
	hunks, err := b.hunks()
	if err != nil {
		return err
	}
	for _, h := range hunks {
		file := filepath.Join(dir, h.file)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if n := strings.Count(string(text), h.before); n != 1 {
			return fmt.Errorf("%s: %s has %d times\n%s", b.module, h.file, n, h.before)
		}
		changed := strings.Replace(string(text), h.before, h.after, 1)
		if err := os.WriteFile(file, []byte(changed), 0o666); err != nil {
			return err
		}
	}
	return nil
}
