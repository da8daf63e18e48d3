package proc

import "testing"

func TestField(t *testing.T) {
	const status = "Name:\techo\nVmHWM:\t  2000 kB\nVmRSS:\t    1234 kB\nThreads:\t3\n"
	if rss, err := field(status, "VmRSS"); err != nil || rss != 1234<<10 {
		t.Errorf("%d, %v", rss, err)
	}
	if n, err := field(status, "Threads"); err != nil || n != 3 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := field("Name:\techo\n", "VmRSS"); err == nil {
		t.Error("a zombie, which has no memory, is no error")
	}
}
