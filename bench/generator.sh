#!/usr/bin/env bash
# Alternating rounds of load generators against one server: netco-bench load beside a hand-written epoll loop in C on tcp
# (cmd/netco-bench/floor), and beside wrk on http (examples/http). One core for the server, another for the generator. Prints the
# generators' CPU time per request, by getrusage, and requests per second; wrk's CPU time is that of the whole process, the others' begins
# when they have connected. The ratios are the peer's CPU time to netco-bench's within each round: below 1 netco-bench needs more.
#
#	bench/generator.sh [rounds] [whole seconds]     environment: CONNS, PROTOCOLS="tcp http"
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-11} seconds=${2:-3} conns=${CONNS:-64} port=18300
out=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill $pid 2>/dev/null; rm -rf "$out"' EXIT
go build -o "$out/netco-bench" ./cmd/netco-bench
(cd examples/http/engines && go build -o "$out/http" .)
for name in echo load; do cc -O2 -o "$out/$name" cmd/netco-bench/floor/$name.c; done

# one runs a generator on the second core and prints: protocol, generator, requests, CPU µs per request.
TIMEFORMAT='%U %S'
one() {
	{ time taskset -c 1 "${@:3}" >"$out/stdout"; } 2>"$out/time"
	case $2 in
	c) awk '{print $1, $2 / 1e9}' "$out/stdout" ;;
	wrk) awk 'NR == FNR {if (/requests in/) n = $1; next} {print n, $1 + $2}' "$out/stdout" "$out/time" ;;
	netco) awk '{gsub(/[",]/, "")} /^  [a-z]/ {part = $1} part == "totals:" && $1 == "requests:" {n = $2}
		part == "generator:" && $1 == "cpu:" {cpu = $2} END {print n, cpu}' "$out/stdout" ;;
	esac | awk -v p="$1" -v g="$2" -v s="$seconds" \
		'{printf "%-5s %-6s %9.0f %8.3f\n", p, g, $1/s, $2*1e6/$1}' | tee -a "$out/all"
}

generate() { # protocol generator
	case $1-$2 in
	tcp-c) one tcp c "$out/load" 127.0.0.1 $port "$conns" 64 "$seconds" ;;
	tcp-netco) one tcp netco "$out/netco-bench" load tcp://127.0.0.1:$port -threads 1 -c "$conns" -d "${seconds}s" -q -json - ;;
	http-wrk) one http wrk wrk -t1 -c"$conns" -d"${seconds}s" http://127.0.0.1:$port/hello ;;
	http-netco) one http netco "$out/netco-bench" load http://127.0.0.1:$port/hello -threads 1 -c "$conns" -d "${seconds}s" -q -json - ;;
	esac
}

# compare runs the rounds of one protocol, and prints the median of the ratios within each round.
compare() { # protocol peer
	port=$((port + 1))
	case $1 in
	tcp) taskset -c 0 "$out/echo" 127.0.0.1 4096 $port >/dev/null & ;;
	http) GOMAXPROCS=1 taskset -c 0 "$out/http" -addr 127.0.0.1:$port -processors 1 >/dev/null & ;;
	esac
	pid=$!
	sleep 0.5
	for ((round = 1; round <= rounds; round++)); do
		order=(netco "$2")
		((round % 2)) || order=("$2" netco)
		for generator in "${order[@]}"; do generate "$1" "$generator"; done
	done
	kill $pid
	wait $pid || true
	pid=
	awk -v p="$1" -v peer="$2" '$1 == p {cpu[$2, ++n[$2]] = $4}
		END {for (i = 1; i <= n[peer]; i++) print cpu[peer, i] / cpu["netco", i]}' "$out/all" | sort -n |
		awk -v p="$1" -v peer="$2" '{r[NR] = $1} END {
			m = (r[int((NR+1)/2)] + r[int(NR/2)+1]) / 2
			printf "%-5s CPU per request, %s to netco-bench: median %.3f, %.3f to %.3f\n", p, peer, m, r[1], r[NR]}'
}

echo "      generator req/s  CPU µs/req"
for protocol in ${PROTOCOLS:-tcp http}; do
	case $protocol in
	tcp) compare tcp c ;;
	http) compare http wrk ;;
	esac
done
