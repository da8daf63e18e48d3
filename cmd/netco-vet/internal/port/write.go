package port

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
)

// change is the change of one file. before is nil if there was none.
type change struct {
	name          string
	before, after []byte
}

// diff is the change as a unified diff, of a file that goes by name there. A
// line that says "diff" is not part of it.
func (c change) diff(name string) string {
	_, text, _ := bytes.Cut(diff.Diff("a/"+name, c.before, "b/"+name, c.after), []byte("\n"))
	return string(text)
}

// rename is os.Rename, but in tests.
var rename = os.Rename

// writeAll writes files, all or none: first beside them, then by renaming. On an
// error those that have been renamed get back what they had.
func writeAll(changes []change) (err error) {
	var temps []string
	var done []change
	defer func() {
		for _, name := range temps {
			os.Remove(name) // those that are left
		}
		if err == nil {
			return
		}
		for _, c := range done {
			err = errors.Join(err, c.undo())
		}
	}()
	for _, c := range changes {
		now, err := os.ReadFile(c.name)
		if err != nil && !(c.before == nil && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
		if !bytes.Equal(now, c.before) {
			return fmt.Errorf("%s has been changed meanwhile; nothing is written", c.name)
		}
		temp, err := beside(c.name, c.after)
		if temp != "" {
			temps = append(temps, temp)
		}
		if err != nil {
			return err
		}
	}
	for i, c := range changes {
		if err := rename(temps[i], c.name); err != nil {
			return err
		}
		done = append(done, c)
	}
	return nil
}

func (c change) undo() error {
	if c.before == nil {
		return os.Remove(c.name)
	}
	temp, err := beside(c.name, c.before)
	if err == nil {
		err = os.Rename(temp, c.name)
	}
	return err
}

// beside makes a file beside name, with its permissions.
func beside(name string, text []byte) (temp string, err error) {
	mode := fs.FileMode(0o644)
	if info, err := os.Lstat(name); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return f.Name(), errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

// fixed says why a file must not be changed, or "": only ordinary files in the
// folder root are.
func fixed(root, name string) (why string) {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return err.Error()
	case info.Mode().Type() == fs.ModeSymlink:
		return "it is a link"
	case !info.Mode().IsRegular():
		return "it is no ordinary file"
	case !within(root, name):
		return "it is not in the module's folder"
	}
	return ""
}

// within reports whether a file or folder is in the folder root, wherever links
// lead.
func within(root, name string) bool {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false
	}
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return false
	}
	rel, err := filepath.Rel(root, name)
	return err == nil && filepath.IsLocal(rel)
}
