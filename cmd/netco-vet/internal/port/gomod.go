package port

import (
	"bytes"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// language is the Go version that netco's go.mod states.
const language = "1.25.0"

// require makes a go.mod and a go.sum that require netco, in a temporary folder.
// The go command works with these, and completes them.
func (p *port) require() (err error) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := existing(filepath.Join(p.root, name))
		if err == nil && text != nil {
			err = os.WriteFile(filepath.Join(p.temp, name), text, 0o666)
		}
		if err != nil {
			return err
		}
	}
	mod := filepath.Join(p.temp, "go.mod")
	p.flags = []string{"-mod=mod", "-modfile=" + mod}
	if p.Tags != "" {
		p.flags = append(p.flags, "-tags="+p.Tags)
	}
	text, err := os.ReadFile(mod)
	if err != nil {
		return err
	}
	f, err := modfile.Parse(mod, text, nil)
	if err != nil {
		return err
	}
	stated := ""
	if f.Go != nil {
		stated = f.Go.Version
	}
	if version.Compare("go"+stated, "go"+language) < 0 {
		p.language = stated
		f.AddGoStmt(language)
		if f.Toolchain != nil && version.Compare(f.Toolchain.Name, "go"+language) < 0 {
			f.DropToolchainStmt()
		}
	}
	has := slices.ContainsFunc(f.Require, func(r *modfile.Require) bool {
		return r.Mod.Path == module
	})
	info, err := os.Stat(p.Netco)
	switch {
	case p.Netco == "":
	case err == nil && info.IsDir():
		folder, err := filepath.Abs(p.Netco)
		if err != nil {
			return err
		}
		err = errors.Join(f.AddRequire(module, "v0.0.0"), f.AddReplace(module, "", folder, ""))
		if err != nil {
			return err
		}
	default:
		if err := f.AddRequire(module, p.Netco); err != nil {
			return err
		}
	}
	if text, err = f.Format(); err == nil {
		err = os.WriteFile(mod, text, 0o666)
	}
	switch {
	case err != nil:
	case p.Netco != "": // that it can be had shows here
		_, err = p.command(p.root, "go", "list", "-mod=mod", "-modfile="+mod, module+"/net")
	case !has:
		_, err = p.command(p.root, "go", "get", "-modfile="+mod, module+"@latest")
	}
	return err
}

// modChanges returns the changes of go.mod and go.sum.
func (p *port) modChanges() (changes []change, err error) {
	for _, base := range []string{"go.mod", "go.sum"} {
		c := change{name: filepath.Join(p.root, base)}
		if c.before, err = existing(c.name); err != nil {
			return nil, err
		}
		if c.after, err = existing(filepath.Join(p.temp, base)); err != nil {
			return nil, err
		}
		if c.after != nil && !bytes.Equal(c.before, c.after) {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// existing returns a file's content, nil if there is none.
func existing(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// command runs a command in a folder and returns what it writes.
func (p *port) command(dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(p.ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		text := stderr.String()
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err,
			text[max(0, len(text)-2000):])
	}
	return string(out), nil
}
