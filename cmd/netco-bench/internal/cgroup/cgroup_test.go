package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParents(t *testing.T) {
	for name, c := range map[string]struct {
		self, mounts string
		want         []parent
	}{
		"v2": {
			"0::/user.slice/app.slice/x.scope\n",
			"30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
			[]parent{
				{"/sys/fs/cgroup/user.slice/app.slice/x.scope", true},
				{"/sys/fs/cgroup/user.slice/app.slice", true},
				{"/sys/fs/cgroup/user.slice", true}, {"/sys/fs/cgroup", true},
			},
		},
		"v1 beside v2": {
			"4:memory:/m\n3:cpu,cpuacct:/a\n2:cpuset:/s\n0::/\n",
			"23 1 8:1 / / rw - ext4 /dev/sda rw\n" +
				"33 31 0:30 / /sys/fs/cgroup/cpu rw,relatime shared:7 - cgroup cgroup " +
				"rw,cpu,cpuacct\n" +
				"34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n" +
				"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
			[]parent{{"/sys/fs/cgroup/unified", true}, {"/sys/fs/cgroup/cpu/a", false},
				{"/sys/fs/cgroup/cpu", false}},
		},
		"a part of the hierarchy is mounted": {
			"3:cpu:/docker/1234/inner\n",
			"33 31 0:30 /docker/1234 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
			[]parent{{"/sys/fs/cgroup/cpu/inner", false}, {"/sys/fs/cgroup/cpu", false}},
		},
		"outside the part that is mounted": {
			"0::/../other\n",
			"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			[]parent{{"/sys/fs/cgroup", true}},
		},
		"beside the part that is mounted": {
			"3:cpu:/docker/5678\n",
			"33 31 0:30 /docker/1234 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
			[]parent{{"/sys/fs/cgroup/cpu", false}},
		},
		"none": {"", "23 1 8:1 / / rw - ext4 /dev/sda rw\n", nil},
	} {
		if got := parents(c.self, c.mounts); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestNewBelow(t *testing.T) {
	bare, delegated := t.TempDir(), t.TempDir()
	for dir, controllers := range map[string]string{bare: "memory pids\n",
		delegated: "cpu memory\n"} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(controllers),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := newBelow([]parent{{bare, true}, {delegated, true}}, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	if got := readSetting(t, g, "cpu.max"); filepath.Dir(g.Dir()) != delegated ||
		got != "20000 100000" {
		t.Errorf("%s has cpu.max %q", g.Dir(), got)
	}
	v1 := t.TempDir()
	g, err = newBelow([]parent{{bare, true}, {v1, false}}, 1.5)
	if err != nil {
		t.Fatal(err)
	}
	quota, period := readSetting(t, g, "cpu.cfs_quota_us"), readSetting(t, g, "cpu.cfs_period_us")
	if filepath.Dir(g.Dir()) != v1 || quota != "150000" || period != "100000" {
		t.Errorf("%s has quota %q, period %q", g.Dir(), quota, period)
	}
}

func TestNewBelowRefuses(t *testing.T) {
	for want, parents := range map[string][]parent{
		"neither cgroup v2 nor v1":    nil,
		"/no/such/place: no such":     {{"/no/such/place", false}},
		"subtree_control: no such":    {{t.TempDir(), true}},
		"no cpu cgroup can be made h": nil,
	} {
		_, err := newBelow(parents, 0.2)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", parents, err, want)
		}
	}
}

func readSetting(t *testing.T, g *Group, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(g.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// TestMain lets the test binary stand in for a process that enters a group and
// says where it is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "enter" {
		err := Enter(os.Args[2])
		if err == nil {
			var self []byte
			self, err = os.ReadFile("/proc/self/cgroup")
			os.Stdout.Write(self)
		}
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestEnter(t *testing.T) {
	g, err := New(0.5)
	if err != nil {
		t.Skip("this machine lets this user make no cpu cgroup: ", err)
	}
	defer func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(g.Dir()); !os.IsNotExist(err) {
			t.Errorf("%s after Remove: %v", g.Dir(), err)
		}
	}()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe, "enter", g.Dir()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "/"+filepath.Base(g.Dir())+"\n") {
		t.Errorf("entered %s: %v, is in\n%s", g.Dir(), err, out)
	}
}
