// Package proc reads what /proc says of processes.
package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// RSS returns a process's resident memory in bytes.
func RSS(pid int) (int64, error) { return Field(fmt.Sprintf("/proc/%d/status", pid), "VmRSS") }

// Field returns the number behind "name:" in a file of /proc, of a size in
// bytes.
func Field(file, name string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return field(string(text), name)
}

func field(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			digits, isSize := strings.CutSuffix(strings.TrimSpace(value), " kB")
			n, err := strconv.ParseInt(digits, 10, 64)
			if isSize {
				n <<= 10
			}
			return n, err
		}
	}
	return 0, fmt.Errorf("no line of %s (a process that has ended has none of VmRSS)", name)
}
