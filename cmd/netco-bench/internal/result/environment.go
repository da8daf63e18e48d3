package result

import (
	"os"
	"runtime"
	"strings"
)

// ThisMachine describes this machine, without its name.
func ThisMachine() Environment {
	e := Environment{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(),
		Go: runtime.Version()}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		e.Kernel = strings.TrimSpace(string(release))
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		e.CPU = cpuModel(string(info))
	}
	return e
}

// cpuModel returns the first CPU's name in /proc/cpuinfo; ARM has none.
func cpuModel(info string) string {
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(line, ":"); ok &&
			strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
