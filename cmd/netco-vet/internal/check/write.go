package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// write writes files, all or none: first beside them, then by renaming. On an
// error those that have been renamed get back what they had.
func write(files map[string]*source) (err error) {
	var temps, done []string
	defer func() {
		for _, name := range temps {
			os.Remove(name) // those that are left
		}
		if err == nil {
			return
		}
		for _, name := range done {
			err = errors.Join(err, replaceFile(name, files[name].before))
		}
	}()
	next := map[string]string{}
	for name, f := range files {
		now, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if string(now) != string(f.before) {
			return fmt.Errorf("%s has been changed meanwhile; nothing is written", name)
		}
		temp, err := beside(name, f.after)
		if temp != "" {
			temps = append(temps, temp)
		}
		if err != nil {
			return err
		}
		next[name] = temp
	}
	for name, temp := range next {
		if err := os.Rename(temp, name); err != nil {
			return err
		}
		done = append(done, name)
	}
	return nil
}

func replaceFile(name string, text []byte) error {
	temp, err := beside(name, text)
	if err == nil {
		err = os.Rename(temp, name)
	}
	return err
}

// beside makes a file beside name, with its permissions.
func beside(name string, text []byte) (temp string, err error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return f.Name(), errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
}

// editable returns why a file must not be changed, or "".
func editable(name string, roots []string) string {
	info, err := os.Lstat(name)
	if err != nil {
		return err.Error()
	}
	if !info.Mode().IsRegular() {
		return "it is no ordinary file"
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil {
		return err.Error()
	}
	for _, root := range roots {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			return ""
		}
	}
	return "it is not in the module"
}
