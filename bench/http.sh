#!/usr/bin/env bash
# Alternating rounds of wrk against examples/http: fasthttp in coroutines on netco, and fasthttp on package net. One core for the server,
# another for wrk.
#
#	bench/http.sh [rounds] [seconds]     environment: CONNS
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/../examples/http/engines"
rounds=${1:-5} seconds=${2:-4} conns=${CONNS:-64} port=18080
out=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill $pid 2>/dev/null; rm -rf "$out"' EXIT
go build -o "$out/http" .

ticks() { awk '{print $14+$15}' "/proc/$1/stat"; } # of 10 ms

# measure runs one server for one round and prints: transport, req/s, p99, CPU µs per request.
measure() {
	local before after
	port=$((port + 1))
	GOMAXPROCS=1 taskset -c 0 "$out/http" -addr 127.0.0.1:$port -transport "$1" -processors 1 >/dev/null &
	pid=$!
	sleep 0.5
	taskset -c 1 wrk -t1 -c"$conns" -d1 "http://127.0.0.1:$port/hello" >/dev/null
	before=$(ticks $pid)
	taskset -c 1 wrk -t1 -c"$conns" -d"$seconds" --latency "http://127.0.0.1:$port/hello" >"$out/wrk"
	after=$(ticks $pid)
	kill $pid
	wait $pid || true
	pid=
	awk -v who="$1" -v used=$((after - before)) '
		/requests in/ {n = $1} /Requests\/sec/ {rate = $2} $1 == "99%" {p99 = $2} /Socket errors/ {bad = $0}
		END {printf "%-6s %9.0f %9s %7.3f %s\n", who, rate, p99, used*10000/n, bad}' "$out/wrk" | tee -a "$out/all"
}

echo "transport req/s     p99   CPU µs/req"
for ((round = 1; round <= rounds; round++)); do
	order=(netco net)
	((round % 2)) || order=(net netco)
	for transport in "${order[@]}"; do measure "$transport"; done
done
echo
for transport in netco net; do
	awk -v t=$transport '$1 == t {print $2, $4}' "$out/all" | sort -n | awk -v t=$transport '
		{rate[NR] = $1; cpu[NR] = $2}
		END {
			for (i = 2; i <= NR; i++) { v = cpu[i]; for (j = i-1; j > 0 && cpu[j] > v; j--) cpu[j+1] = cpu[j]; cpu[j+1] = v }
			m = int((NR+1)/2); printf "%-6s median %9.0f req/s %7.3f CPU µs/req\n", t, rate[m], cpu[m]
		}'
done
