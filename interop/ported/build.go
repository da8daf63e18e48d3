package main

import (
	"path"
	"path/filepath"
	"regexp"
)

// build compiles the tests of some packages.
func (p *port) build(packages []*testPackage, race bool) error {
	// With -trimpath the build cache does not mind where the copy is.
	args := []string{"test", "-c", "-trimpath", "-vet=off", "-o", p.dir + ".tests/"}
	if race {
		args = append(args, "-race")
	}
	for _, pkg := range packages {
		args = append(args, "./"+pkg.folder)
	}
	_, err := command(p.dir, "go", args...)
	return err
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// binary is where the go command puts the tests of a package.
func (p *port) binary(pkg *testPackage) string {
	name := path.Join(p.path, pkg.folder)
	if majorVersion.MatchString(path.Base(name)) {
		name = path.Dir(name)
	}
	return filepath.Join(p.dir+".tests", path.Base(name)+".test")
}
