package port

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The changes of a port are made together or not at all:
//
//  1. The journal is made in the module's folder. It has the name of each file,
//     the checksums of its content before and after, and the names of two
//     temporary files beside it. An exclusive lock on it keeps a second port out.
//  2. Each file gets a second name, the old one, and its new content is written
//     to the new one.
//  3. Each new file is renamed to its name. The old content keeps its old name.
//  4. The journal is removed: now the port is done. The old names are removed.
//
// An error, a panic or a signal before step 4 undoes what was done, by the
// journal: a file that has the content after gets the old one back. The next
// port does the same with a journal that a killed process has left. A file with
// any other content has been changed by another program and stays.

// change is the change of one file.
type change struct {
	Name          string
	before, after []byte
	created       bool // there was none
}

// journal is what is written of a port under way.
type journal struct {
	name    string
	file    *os.File
	Entries []entry
}

// entry is a file in the journal.
type entry struct {
	Name, Old, New string // Name is relative to the journal's folder
	Before, After  string // checksums; Before is "" if there was no file
}

const journalName = ".netco-vet-port.json"

// renamed is called after each of step 3's renames. Tests set it.
var renamed = func(n int) error { return nil }

// commit makes changes to files in root, and below.
func commit(ctx context.Context, root string, changes []change) (err error) {
	if len(changes) == 0 {
		return ctx.Err()
	}
	for _, c := range changes {
		if name, err := filepath.Rel(root, c.Name); err != nil || !filepath.IsLocal(name) {
			return fmt.Errorf("%s is not in %s", c.Name, root)
		}
	}
	j := newJournal(root, changes)
	if err := j.open(os.O_CREATE | os.O_EXCL); err != nil {
		return err
	}
	defer j.file.Close()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
		if err != nil {
			err = errors.Join(err, j.undo())
		}
	}()
	if err := j.write(); err != nil {
		return err
	}
	if err := j.prepare(ctx, changes); err != nil {
		return err
	}
	for i := range j.Entries {
		if err := ctx.Err(); err != nil {
			return errors.New("interrupted")
		}
		e := &j.Entries[i]
		if err := os.Rename(j.path(e.New), j.path(e.Name)); err != nil {
			return err
		}
		if err := renamed(i + 1); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if err := os.Remove(j.name); err != nil {
		return err
	}
	for _, e := range j.Entries { // what cannot be removed does no harm
		os.Remove(j.path(e.Old))
	}
	return nil
}

// newJournal makes a journal of changes of files in root.
func newJournal(root string, changes []change) *journal {
	j := &journal{name: filepath.Join(root, journalName)}
	for i, c := range changes {
		name, _ := filepath.Rel(root, c.Name)
		dir, base := filepath.Split(name)
		temp := func(ext string) string {
			return fmt.Sprintf("%s.netco-vet-port-%d-%s.%s", dir, i, base, ext)
		}
		e := entry{Name: name, Old: temp("old"), New: temp("new"), After: sum(c.after)}
		if !c.created {
			e.Before = sum(c.before)
		}
		j.Entries = append(j.Entries, e)
	}
	return j
}

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// path is the path of one of the names in the journal.
func (j *journal) path(name string) string { return filepath.Join(filepath.Dir(j.name), name) }

// open opens the journal and locks it.
func (j *journal) open(flag int) (err error) {
	if j.file, err = os.OpenFile(j.name, os.O_RDWR|flag, 0o666); err != nil {
		return err
	}
	if err = syscall.Flock(int(j.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("another port of this module is under way: %w", err),
			j.file.Close())
	}
	return nil
}

// write writes the journal to the disk.
func (j *journal) write() error {
	text, err := json.MarshalIndent(j, "", "\t")
	if err != nil {
		return err
	}
	if _, err := j.file.Write(text); err != nil {
		return err
	}
	return j.file.Sync()
}

// prepare makes the old and the new files, if all still are as they were
// planned.
func (j *journal) prepare(ctx context.Context, changes []change) error {
	for i, c := range changes {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		e, mode := j.Entries[i], fs.FileMode(0o666)
		if !c.created {
			info, err := os.Lstat(c.Name)
			if err != nil {
				return err
			}
			if !info.Mode().IsRegular() {
				return fmt.Errorf("%s is no ordinary file", c.Name)
			}
			mode = info.Mode().Perm()
			if err := second(c.Name, j.path(e.Old), mode); err != nil {
				return err
			}
		}
		if now, err := j.sum(e.Name); err != nil || now != e.Before {
			return errors.Join(fmt.Errorf("%s has been changed meanwhile", c.Name), err)
		}
		if err := create(j.path(e.New), c.after, mode); err != nil {
			return err
		}
	}
	return nil
}

// second gives a file a second name, or makes a copy where that cannot be.
func second(name, other string, mode fs.FileMode) error {
	if err := os.Link(name, other); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return create(other, text, mode)
}

// create writes a file that is not there yet, to the disk.
func create(name string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if err = f.Chmod(mode); err == nil {
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// sum returns a file's checksum, "" if there is none.
func (j *journal) sum(name string) (string, error) {
	text, err := os.ReadFile(j.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return sum(text), err
}

// undo brings the files back that have been changed, and removes what is
// temporary. Where it fails the journal stays, and the old files.
func (j *journal) undo() (err error) {
	for _, e := range j.Entries {
		err = errors.Join(err, j.undoOne(e))
	}
	if err != nil {
		return fmt.Errorf("undoing failed; %s and the files that it names have what was before: %w",
			j.name, err)
	}
	return os.Remove(j.name)
}

func (j *journal) undoOne(e entry) error {
	now, err := j.sum(e.Name)
	if err != nil {
		return err
	}
	old, err := j.sum(e.Old)
	if err != nil {
		return err
	}
	switch {
	case now == e.Before: // never changed, or undone
	case now != e.After:
		return fmt.Errorf("%s has been changed meanwhile", j.path(e.Name))
	case e.Before == "":
		if err := os.Remove(j.path(e.Name)); err != nil {
			return err
		}
	case old != e.Before:
		return fmt.Errorf("%s is not what it was", j.path(e.Old))
	default:
		if err := os.Rename(j.path(e.Old), j.path(e.Name)); err != nil {
			return err
		}
	}
	for _, name := range []string{e.Old, e.New} {
		if err := os.Remove(j.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// recover undoes a port that was killed.
func (p *port) recover(out io.Writer) error {
	j := &journal{name: filepath.Join(p.root, journalName)}
	err := j.open(0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer j.file.Close()
	if p.Dry {
		return fmt.Errorf("%s is of a port that was killed; one without -d undoes it first", j.name)
	}
	text, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	if json.Unmarshal(text, j) != nil {
		j.Entries = nil // not written to the end: nothing has been changed yet
	}
	for _, e := range j.Entries {
		for _, name := range []string{e.Name, e.Old, e.New} {
			if !filepath.IsLocal(name) {
				return fmt.Errorf("%s: %s is not in the module", j.name, name)
			}
		}
	}
	if err := j.undo(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "undone: a port of this module that was killed\n\n")
	return err
}
