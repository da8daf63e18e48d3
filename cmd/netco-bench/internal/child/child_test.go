package child

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestServeProtocol(t *testing.T) {
	var out bytes.Buffer
	if err := Serve(strings.NewReader("stat\nstat\n"), &out,
		Hello{Addr: "127.0.0.1:1", GOMAXPROCS: 3}); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&out)
	var h Hello
	if err := dec.Decode(&h); err != nil || h.Addr != "127.0.0.1:1" || h.GOMAXPROCS != 3 {
		t.Errorf("hello %+v, %v", h, err)
	}
	for range 2 {
		var s Stat
		if err := dec.Decode(&s); err != nil || s.UserUs+s.SystemUs == 0 {
			t.Errorf("stat %+v, %v", s, err)
		}
	}
	if dec.More() {
		t.Error("more than was asked for")
	}
	if err := Serve(strings.NewReader("what\n"), &out, Hello{}); err == nil {
		t.Error("an unknown request is not refused")
	}
}

func TestField(t *testing.T) {
	got, err := field("Name:\tx\nVmRSS:\t    5148 kB\nThreads:\t3\n", "VmRSS")
	if err != nil || got != 5148<<10 {
		t.Errorf("VmRSS = %d, %v", got, err)
	}
	for _, bad := range []string{"", "VmRSS: lots kB\n"} {
		if _, err := field(bad, "VmRSS"); err == nil {
			t.Errorf("VmRSS of %q succeeds", bad)
		}
	}
}

func TestHeadKeepsTheBeginning(t *testing.T) {
	var h head
	for range 1000 {
		if n, err := h.Write([]byte("0123456789")); n != 10 || err != nil {
			t.Fatal(n, err)
		}
	}
	if s := h.String(); len(s) != stderrKept || !strings.HasPrefix(s, "0123456789") {
		t.Errorf("kept %d bytes", len(s))
	}
}
