// Package daemon runs the real servers that tests talk to: Redis, PostgreSQL, MariaDB. Each is started by the test on a free
// loopback port with a folder of its own, and ended with it, or with the test process if that is killed.
package daemon

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limit is how long a server may take to start, and then to end.
const limit = time.Minute

// Server is a running server.
type Server struct {
	Port int
	Dir  string
	cmd  *exec.Cmd
	end  syscall.Signal // ends it in order, without waiting for its clients
	log  bytes.Buffer
	over chan struct{} // closed when the process has ended
}

// Addr is its address on loopback.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }

// Find returns the path of a program in PATH or where Debian has those of servers; the test is skipped if it is not installed.
func Find(t testing.TB, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, pattern := range []string{"/usr/sbin/" + name, "/usr/lib/postgresql/*/bin/" + name} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// folder makes a temporary folder with a short name, because the paths of unix sockets are limited to 107 bytes.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "interop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// freePort returns a port that nobody listens on just now. It is below those that the kernel gives to whoever wants any, or somebody might have it
// before the server does.
func freePort(t testing.TB) int {
	t.Helper()
	var err error
	for range 100 {
		port := 20000 + rand.IntN(12000)
		var ln net.Listener
		if ln, err = net.Listen("tcp",
			net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			ln.Close()
			return port
		}
	}
	t.Fatal("no port is free: ", err)
	return 0
}

// start starts a server and waits until ready returns nil. The test's end ends it.
func start(t testing.TB, s *Server, cmd *exec.Cmd, ready func(addr string) error) *Server {
	t.Helper()
	s.cmd, s.over = cmd, make(chan struct{})
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	cmd.WaitDelay = time.Second
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT // which PostgreSQL passes on to its children, and none of them ignores
	started := make(chan error)
	go func() {
		// The death of the parent is that of the thread which started the child: it must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(s.over)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	s.await(t, ready)
	return s
}

func (s *Server) await(t testing.TB, ready func(addr string) error) {
	t.Helper()
	var err error
	for begin := time.Now(); time.Since(begin) < limit; {
		select {
		case <-s.over:
			t.Fatalf("%s ended at once:\n%s", s.cmd.Path, s.log.String())
		case <-time.After(20 * time.Millisecond):
		}
		if err = ready(s.Addr()); err == nil {
			return
		}
	}
	s.Kill()
	t.Fatalf("%s was not ready after %v: %v\n%s", s.cmd.Path, limit, err, s.log.String())
}

// Stop ends the server in order, or at once if that takes too long. It may be called again.
func (s *Server) Stop() {
	s.cmd.Process.Signal(s.end)
	select {
	case <-s.over:
	case <-time.After(limit):
		s.Kill()
	}
}

// Kill ends the server at once.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	<-s.over
}

// talk connects to an address, sends what there is to send, and returns the first that comes back.
func talk(addr, send string) (string, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write([]byte(send)); err != nil {
		return "", err
	}
	buf := make([]byte, 256)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

// Redis starts a Redis server that keeps nothing on disk.
func Redis(t testing.TB) *Server {
	t.Helper()
	s := &Server{Port: freePort(t), Dir: folder(t), end: syscall.SIGTERM}
	cmd := exec.Command(Find(t, "redis-server"), "--port", strconv.Itoa(s.Port), "--bind",
		"127.0.0.1", "--dir", s.Dir,
		"--save", "", "--appendonly", "no", "--unixsocket", filepath.Join(s.Dir, "s"))
	return start(t, s, cmd, func(addr string) error {
		got, err := talk(addr, "PING\r\n")
		if err == nil && !strings.HasPrefix(got, "+PONG") {
			err = fmt.Errorf("answered %q", got)
		}
		return err
	})
}

// Socket is the path of Redis's or MariaDB's unix socket.
func (s *Server) Socket() string { return filepath.Join(s.Dir, "s") }

// MariaDB starts a MariaDB server with user root without a password and an empty database "test".
func MariaDB(t testing.TB) *Server {
	t.Helper()
	mariadbd, install := Find(t, "mariadbd"), Find(t, "mariadb-install-db")
	s := &Server{Port: freePort(t), Dir: folder(t), end: syscall.SIGTERM}
	data := filepath.Join(s.Dir, "data")
	common := []string{"--no-defaults", "--datadir=" + data, "--innodb-log-file-size=4M",
		"--innodb-buffer-pool-size=16M"}
	if os.Getuid() == 0 {
		common = append(common, "--user=root")
	}
	run(t, exec.Command(install, append(common, "--auth-root-authentication-method=normal",
		"--skip-test-db")...))
	cmd := exec.Command(mariadbd, append(common, "--port="+strconv.Itoa(s.Port),
		"--bind-address=127.0.0.1", "--socket="+s.Socket(),
		"--pid-file="+filepath.Join(s.Dir, "pid"), "--skip-name-resolve",
		"--max-allowed-packet=64M", "--skip-log-bin")...)
	return start(t, s, cmd, func(addr string) error {
		_, err := talk(addr, "") // the greeting
		return err
	})
}

// PostgreSQL starts a PostgreSQL server with user postgres without a password. It refuses to run as root, so root runs it as
// another user.
func PostgreSQL(t testing.TB) *Server {
	t.Helper()
	postgres, initdb := Find(t, "postgres"), Find(t, "initdb")
	s := &Server{Port: freePort(t), Dir: folder(t), end: syscall.SIGINT} // it takes SIGTERM for a wish to wait for clients
	data := filepath.Join(s.Dir, "data")
	as := func(cmd *exec.Cmd) *exec.Cmd {
		cmd.Dir = s.Dir
		if os.Getuid() == 0 {
			uid, gid := other(t)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid,
				Gid: gid}}
			if err := os.Chown(s.Dir, int(uid), int(gid)); err != nil {
				t.Fatal(err)
			}
		}
		return cmd
	}
	run(t, as(exec.Command(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8",
		"--locale=C", "--no-instructions")))
	cmd := as(exec.Command(postgres, "-D", data, "-p", strconv.Itoa(s.Port), "-h", "127.0.0.1",
		"-k", s.Dir,
		"-c", "fsync=off", "-c", "autovacuum=off", "-c", "shared_buffers=16MB", "-c",
		"max_connections=50"))
	return start(t, s, cmd, func(addr string) error {
		// A wish for TLS is answered with one byte, but also while the server does not take connections yet.
		if _, err := talk(addr, "\x00\x00\x00\x08\x04\xd2\x16\x2f"); err != nil {
			return err
		}
		pid, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
		if err == nil && !strings.Contains(string(pid), "ready") {
			err = fmt.Errorf("postmaster.pid says %q", pid)
		}
		return err
	})
}

// run runs what prepares a server.
func run(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd.Path, err, out)
	}
}
