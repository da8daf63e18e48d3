// Package cgroup confines a process to a part of a core by the cpu controller,
// of cgroup v2 where that has it, of v1 otherwise.
//
// A group is made below the nearest cgroup, from this process's own upwards, in
// which the machine allows it; what others set there is not changed. It lasts
// until Remove, so a process that is killed leaves an empty directory behind.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	_ "github.com/netco-go/netco/asm" // ends a build for other platforms
)

const (
	periodUs = 100_000 // the kernel's default
	// MinQuota is the least part of a core that the kernel accepts.
	MinQuota = 0.01
	// removeTimeout bounds the wait for a process that has just ended to leave.
	removeTimeout = 2 * time.Second
)

// Group is a cgroup that New made.
type Group struct{ dir string }

// New makes a cgroup in which all processes together get that part of a core.
func New(cores float64) (*Group, error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("cpu cgroup: %w", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("cpu cgroup: %w", err)
	}
	return newBelow(parents(string(self), string(mounts)), cores)
}

// Dir is the group's directory, for Enter.
func (g *Group) Dir() string { return g.dir }

// Enter moves the calling process into the group at dir.
func Enter(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
		return fmt.Errorf("enter cgroup: %w", err)
	}
	return nil
}

// Remove removes the group, whose processes must have ended.
func (g *Group) Remove() error {
	deadline := time.Now().Add(removeTimeout)
	for {
		err := os.Remove(g.dir)
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A parent is a directory that may take a new cgroup.
type parent struct {
	dir string
	v2  bool
}

// parents reads /proc/self/cgroup and /proc/self/mountinfo and returns where a
// new cgroup may go, the best first: the process's own cgroup and those above
// it, up to where the hierarchy is mounted, in v2 and then in v1.
func parents(self, mounts string) []parent {
	var v1, v2 []parent
	for line := range strings.Lines(mounts) {
		// 33 24 0:30 /root /mount/point rw - cgroup2 cgroup2 rw,options
		before, after, _ := strings.Cut(line, " - ")
		mount, fs := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(fs) < 3 {
			continue
		}
		root, point := mount[3], mount[4]
		switch {
		case fs[0] == "cgroup2":
			for _, dir := range upwards(point, root, ownPath(self, "")) {
				v2 = append(v2, parent{dir, true})
			}
		case fs[0] == "cgroup" && slices.Contains(strings.Split(fs[2], ","), "cpu"):
			for _, dir := range upwards(point, root, ownPath(self, "cpu")) {
				v1 = append(v1, parent{dir, false})
			}
		}
	}
	return append(v2, v1...)
}

// ownPath returns the process's path in the hierarchy of a v1 controller, or in
// v2's if that is "".
func ownPath(self, controller string) string {
	for line := range strings.Lines(self) {
		// 4:cpu,cpuacct:/path, in v2 0::/path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && slices.Contains(strings.Split(parts[1], ","), controller) {
			return parts[2]
		}
	}
	return "/"
}

// upwards returns the directory of the cgroup path and those above it. A path
// outside the mounted part of the hierarchy counts as its top.
func upwards(point, root, path string) []string {
	below, err := filepath.Rel(root, path)
	if err != nil || strings.HasPrefix(path, "/..") || strings.HasPrefix(below, "..") {
		below = "."
	}
	var dirs []string
	for dir := filepath.Join(point, below); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == point || dir == filepath.Dir(dir) {
			return dirs
		}
	}
}

func newBelow(parents []parent, cores float64) (*Group, error) {
	errs := []error{errors.New("no cpu cgroup can be made here")}
	for _, p := range parents {
		dir, err := p.mkdir(cores)
		if err == nil {
			return &Group{dir}, nil
		}
		errs = append(errs, err)
	}
	if len(parents) == 0 {
		errs = append(errs, errors.New("neither cgroup v2 nor v1's cpu controller is mounted"))
	}
	return nil, errors.Join(errs...)
}

func (p parent) mkdir(cores float64) (dir string, err error) {
	if p.v2 {
		given, err := os.ReadFile(filepath.Join(p.dir, "cgroup.subtree_control"))
		if err != nil {
			return "", err
		}
		if !slices.Contains(strings.Fields(string(given)), "cpu") {
			return "", fmt.Errorf("%s does not give the cpu controller to the cgroups below it "+
				"(cgroup.subtree_control)", p.dir)
		}
	}
	if dir, err = os.MkdirTemp(p.dir, "netco-bench-"); err != nil {
		return "", err
	}
	quotaUs := int(cores*periodUs + 0.5)
	settings := [][2]string{{"cpu.cfs_period_us", fmt.Sprint(periodUs)},
		{"cpu.cfs_quota_us", fmt.Sprint(quotaUs)}}
	if p.v2 {
		settings = [][2]string{{"cpu.max", fmt.Sprintf("%d %d", quotaUs, periodUs)}}
	}
	for _, s := range settings {
		if err := os.WriteFile(filepath.Join(dir, s[0]), []byte(s[1]), 0o600); err != nil {
			_ = os.Remove(dir) // the first error says more
			return "", err
		}
	}
	return dir, nil
}
