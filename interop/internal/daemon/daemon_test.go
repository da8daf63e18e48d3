package daemon

import (
	"net"
	"os"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestServersComeAndGo: each server starts, and nothing of it is left: no process, no folder.
func TestServersComeAndGo(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(testing.TB) *Server
	}{{"Redis", Redis}, {"PostgreSQL", PostgreSQL}, {"MariaDB", MariaDB}} {
		var s *Server
		t.Run(c.name, func(t *testing.T) { s = c.start(t) })
		if s == nil { // skipped
			continue
		}
		if conn, err := net.Dial("tcp", s.Addr()); err == nil {
			conn.Close()
			t.Errorf("%s: still listens", c.name)
		}
		if _, err := os.Stat(s.Dir); err == nil {
			t.Errorf("%s: %s is left", c.name, s.Dir)
		}
	}
}
