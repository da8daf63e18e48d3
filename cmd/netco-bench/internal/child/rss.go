package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// RSS returns the child's resident memory in bytes.
func (p *Process) RSS() (int64, error) {
	rss, err := RSS(p.PID())
	if err != nil {
		return 0, p.Explain(err)
	}
	return rss, nil
}

// RSS returns a process's resident memory in bytes.
func RSS(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read RSS: %w", err)
	}
	return parseRSS(string(status))
}

func parseRSS(status string) (int64, error) {
	for line := range strings.Lines(status) {
		value, ok := strings.CutPrefix(line, "VmRSS:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value),
			"kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read RSS: %w", err)
		}
		return kib << 10, nil
	}
	return 0, fmt.Errorf("read RSS: no VmRSS line (a process that has ended has none)")
}
