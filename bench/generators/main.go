// Command generators measures the load generator beside those that people know:
// netco-bench load and wrk against nginx and net/http, netco-bench load and
// redis-benchmark against redis-server, in alternating rounds, closed loop, the
// server on one core and the generator on another. What both find should be the
// same: requests per second, p50 and p99.
//
//	go -C bench run ./generators [-rounds 7] [-time 3s] [-conns 64]
//
// It needs wrk, nginx, redis-server and redis-benchmark; a pair of which
// something is not installed is left out with a message.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// found is what a generator measured in one round.
type found struct {
	rate     float64 // requests per second
	p50, p99 time.Duration
	cpu      time.Duration // of the generator, per request
}

// pair is a server, and the two generators that load it. Each round starts a
// server of its own.
type pair struct {
	name   string
	needs  []string // programs
	server func(dir, address string) []string
	other  string
	loads  map[string]func(r *run) (found, error)
}

// run is one round.
type run struct {
	programs, address string
	conns             int
	time              time.Duration
}

const ours = "netco-bench"

var pairs = []pair{
	{
		name: "http, nginx", needs: []string{"nginx", "wrk"}, server: nginx, other: "wrk",
		loads: map[string]func(*run) (found, error){ours: httpLoad, "wrk": wrk},
	},
	{
		name: "http, net/http", needs: []string{"wrk"}, server: netHTTP, other: "wrk",
		loads: map[string]func(*run) (found, error){ours: httpLoad, "wrk": wrk},
	},
	{
		name: "redis, redis-server", needs: []string{"redis-server", "redis-benchmark"},
		server: redisServer, other: "redis-benchmark",
		loads: map[string]func(*run) (found, error){ours: redisLoad, "redis-benchmark": redisBenchmark},
	},
}

// The programs that this one builds.
const (
	benchProgram = "netco-bench"
	peersProgram = "peers"
)

func main() {
	rounds := flag.Int("rounds", 7, "rounds of each generator")
	length := flag.Duration("time", 3*time.Second, "time of a round")
	conns := flag.Int("conns", 64, "connections")
	flag.Parse()
	if err := measure(*rounds, *length, *conns); err != nil {
		fmt.Fprintln(os.Stderr, "generators:", err)
		os.Exit(1)
	}
}

func measure(rounds int, length time.Duration, conns int) error {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build(dir); err != nil {
		return err
	}
	for _, p := range pairs {
		if missing := p.missing(); missing != "" {
			fmt.Printf("%s: left out, %s is not installed\n\n", p.name, missing)
			continue
		}
		if err := p.measure(dir, rounds, length, conns); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// build builds into dir what rounds need.
func build(dir string) error {
	for program, folder := range map[string]string{
		benchProgram: "cmd/netco-bench", peersProgram: "bench/peers",
	} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, program), ".")
		cmd.Dir, cmd.Stderr = filepath.Join(root, folder), os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building %s: %w", program, err)
		}
	}
	return nil
}

// root is the folder of this repository.
var root = func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../..")
}()

func (p pair) missing() string {
	for _, program := range p.needs {
		if _, err := lookPath(program); err != nil {
			return program
		}
	}
	return ""
}

// lookPath finds a program also where only root's PATH leads.
func lookPath(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/" + program)
}

func (p pair) measure(dir string, rounds int, length time.Duration, conns int) error {
	all := map[string][]found{}
	for round := range rounds {
		order := []string{ours, p.other}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, generator := range order {
			f, err := p.round(dir, generator, length, conns)
			if err != nil {
				return fmt.Errorf("%s: %w", generator, err)
			}
			all[generator] = append(all[generator], f)
		}
	}
	fmt.Printf("%s, %d connections, median of %d rounds of %v\n\n", p.name, conns, rounds, length)
	fmt.Printf("%-16s %10s %10s %10s %14s\n", "", "req/s", "p50 µs", "p99 µs", "own CPU µs/req")
	var medians [2][4]float64
	for i, generator := range []string{ours, p.other} {
		medians[i] = medianOf(all[generator])
		m := medians[i]
		fmt.Printf("%-16s %10.0f %10.1f %10.1f %14.2f\n", generator, m[0], m[1], m[2], m[3])
	}
	fmt.Printf("%-16s", "ratio")
	for i, width := range []int{10, 10, 10, 14} {
		fmt.Printf(" %*.3f", width, medians[0][i]/medians[1][i])
	}
	fmt.Print("\n\n")
	return nil
}

// medianOf returns the medians of rate, p50, p99 and CPU, these in µs.
func medianOf(all []found) (m [4]float64) {
	columns := []func(found) float64{
		func(f found) float64 { return f.rate },
		func(f found) float64 { return us(f.p50) },
		func(f found) float64 { return us(f.p99) },
		func(f found) float64 { return us(f.cpu) },
	}
	for i, column := range columns {
		var values []float64
		for _, f := range all {
			values = append(values, column(f))
		}
		slices.Sort(values)
		m[i] = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	return m
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// round starts a server, lets the generator load it, and ends it.
func (p pair) round(dir, generator string, length time.Duration, conns int) (found, error) {
	address, err := freeAddress()
	if err != nil {
		return found{}, err
	}
	args := append([]string{"-c", "0"}, p.server(dir, address)...)
	server := exec.Command("taskset", args...)
	server.Env = append(os.Environ(), "GOMAXPROCS=1")
	if err := server.Start(); err != nil {
		return found{}, err
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
	}()
	if err := untilServing(address); err != nil {
		return found{}, err
	}
	return p.loads[generator](&run{dir, address, conns, length})
}

func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

func untilServing(address string) (err error) {
	for range 100 {
		var c net.Conn
		if c, err = net.Dial("tcp", address); err == nil {
			return c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// The servers' commands.

func nginx(dir, address string) []string {
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off; master_process off; worker_processes 1; pid %s/nginx.pid;
error_log %s/nginx.log;
events { worker_connections 10000; }
http {
	access_log off; keepalive_requests 1000000000;
	server { listen %s; location / { return 200 "hello, world\n"; } }
}
`, dir, dir, address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		panic(err)
	}
	path, _ := lookPath("nginx")
	return []string{path, "-c", config, "-p", dir}
}

func netHTTP(dir, address string) []string {
	return []string{filepath.Join(dir, peersProgram), "http", "nethttp", address}
}

func redisServer(dir, address string) []string {
	host, port, _ := net.SplitHostPort(address)
	return []string{
		"redis-server", "--bind", host, "--port", port, "--save", "", "--appendonly", "no",
		"--dir", dir, "--logfile", filepath.Join(dir, "redis.log"),
	}
}

// generate runs a generator on the other core, and returns its output and its
// CPU time.
func generate(program string, args ...string) ([]byte, time.Duration, error) {
	cmd := exec.Command("taskset", append([]string{"-c", "1", program}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, 0, err
	}
	return out.Bytes(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func httpLoad(r *run) (found, error) { return load(r, "http://"+r.address+"/") }

func redisLoad(r *run) (found, error) {
	return load(r, "redis://"+r.address, "-redis", "SET key:1 xxx")
}

func load(r *run, url string, more ...string) (f found, err error) {
	args := append([]string{
		"load", url, "-c", strconv.Itoa(r.conns), "-d", r.time.String(), "-warmup", "300ms",
		"-q", "-json", "-",
	}, more...)
	out, used, err := generate(filepath.Join(r.programs, benchProgram), args...)
	if err != nil {
		return f, err
	}
	var result struct {
		Elapsed float64
		Totals  struct{ Requests uint64 }
		Service struct {
			Percentiles []struct {
				Percent float64
				NS      int64
			}
		}
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return f, err
	}
	f.rate = float64(result.Totals.Requests) / result.Elapsed
	for _, p := range result.Service.Percentiles {
		switch p.Percent {
		case 50:
			f.p50 = time.Duration(p.NS)
		case 99:
			f.p99 = time.Duration(p.NS)
		}
	}
	// The warm-up's requests cost as much, and are not in the total.
	f.cpu = time.Duration(float64(used) / (f.rate * (r.time + 300*time.Millisecond).Seconds()))
	return f, nil
}

func wrk(r *run) (f found, err error) {
	seconds := strconv.Itoa(int(math.Ceil(r.time.Seconds()))) // it takes no less
	out, used, err := generate("wrk", "-t1", "-c"+strconv.Itoa(r.conns), "-d"+seconds, "--latency",
		"http://"+r.address+"/")
	if err != nil {
		return f, err
	}
	for line := range strings.Lines(string(out)) {
		word := strings.Fields(line)
		switch {
		case len(word) == 2 && word[0] == "50%":
			f.p50, err = time.ParseDuration(word[1])
		case len(word) == 2 && word[0] == "99%":
			f.p99, err = time.ParseDuration(word[1])
		case len(word) == 2 && word[0] == "Requests/sec:":
			f.rate, err = strconv.ParseFloat(word[1], 64)
		case strings.Contains(line, "errors"):
			err = errors.New(strings.TrimSpace(line))
		}
		if err != nil {
			return f, err
		}
	}
	f.cpu = time.Duration(float64(used) / (f.rate * math.Ceil(r.time.Seconds())))
	return f, nil
}

// redisBenchmark is given as many requests as take about a round: 60,000 a
// second.
func redisBenchmark(r *run) (f found, err error) {
	host, port, _ := net.SplitHostPort(r.address)
	n := int(r.time.Seconds() * 60_000)
	out, used, err := generate("redis-benchmark", "-h", host, "-p", port,
		"-c", strconv.Itoa(r.conns), "-n", strconv.Itoa(n), "-t", "set", "--csv", "--precision", "3")
	if err != nil {
		return f, err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	names, values := strings.Split(lines[0], ","), strings.Split(lines[len(lines)-1], ",")
	for i, name := range names {
		value, err := strconv.ParseFloat(strings.Trim(values[i], `"`), 64)
		switch ms := time.Duration(value * float64(time.Millisecond)); strings.Trim(name, `"`) {
		case "rps":
			f.rate = value
		case "p50_latency_ms":
			f.p50 = ms
		case "p99_latency_ms":
			f.p99 = ms
		default:
			continue
		}
		if err != nil {
			return f, err
		}
	}
	f.cpu = used / time.Duration(n)
	return f, nil
}
