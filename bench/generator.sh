#!/usr/bin/env bash
# Alternating rounds of load generators against one server: netco-bench load beside a hand-written epoll loop in C on tcp
# (cmd/netco-bench/floor), beside wrk on http (examples/http/engines), nethttp (bench/peers) and nginx, and beside redis-benchmark on redis
# (redis-server); a pair of which a program is not installed is left out. One core for the server, another for the generator. Prints
# requests per second, p50 and p99 in µs, which should be the same of both, and the generators' CPU time per request, by getrusage: of wrk and
# redis-benchmark that of the whole process, the others' begins when they have connected. The ratios are the peer's to netco-bench's within
# each round: of CPU time, below 1 netco-bench needs more.
#
#	bench/generator.sh [rounds] [whole seconds]     environment: CONNS, PROTOCOLS="tcp http nethttp nginx redis"
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-11} seconds=${2:-3} conns=${CONNS:-64} port=18300
out=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill $pid 2>/dev/null; rm -rf "$out"' EXIT
go build -o "$out/netco-bench" ./cmd/netco-bench
(cd examples/http/engines && go build -o "$out/http" .)
(cd bench && go build -o "$out/peers" ./peers)
for name in echo load; do cc -O2 -o "$out/$name" cmd/netco-bench/floor/$name.c; done

# one runs a generator on the second core and prints: protocol, generator, requests per second, p50, p99, CPU µs per request.
TIMEFORMAT='%U %S'
one() {
	{ time taskset -c 1 "${@:3}" >"$out/stdout"; } 2>"$out/time"
	case $2 in
	c) awk '{print $1, "- -", $2 / 1e9}' "$out/stdout" ;;
	wrk) awk 'function us(t) {return t ~ /us$/ ? t + 0 : t ~ /ms$/ ? t * 1e3 : t * 1e6}
		NR == FNR {if ($1 == "50%") p50 = us($2); if ($1 == "99%") p99 = us($2); if (/requests in/) n = $1; next}
		{print n, p50, p99, $1 + $2}' "$out/stdout" "$out/time" ;;
	redis) awk -F, 'NR == FNR {gsub(/"/, ""); if ($1 == "SET") {n = $2; p50 = $5; p99 = $7}; next}
		{split($0, t, " "); print n * '"$seconds"', p50 * 1e3, p99 * 1e3, (t[1] + t[2]) * n * '"$seconds"' / '"$((seconds * 60000))"'}' \
		"$out/stdout" "$out/time" ;;
	netco) awk '{gsub(/[",]/, "")} /^  [a-z]/ {part = $1} part == "totals:" && $1 == "requests:" {n = $2}
		part == "response:" && $1 == "percent:" {p = $2} part == "response:" && $1 == "ns:" {at[p] = $2 / 1e3}
		part == "generator:" && $1 == "cpu:" {cpu = $2} END {print n, at[50], at[99], cpu}' "$out/stdout" ;;
	esac | awk -v p="$1" -v g="$2" -v s="$seconds" \
		'{printf "%-7s %-6s %9.0f %8s %8s %8.3f\n", p, g, $1/s, $2, $3, $4*1e6/$1}' | tee -a "$out/all"
}

generate() { # protocol generator
	local load=("$out/netco-bench" load) flags=(-threads 1 -c "$conns" -d "${seconds}s" -q -json -) path=
	[[ $1 != http ]] || path=hello
	case $1-$2 in
	tcp-c) one tcp c "$out/load" 127.0.0.1 $port "$conns" 64 "$seconds" ;;
	tcp-netco) one tcp netco "${load[@]}" tcp://127.0.0.1:$port "${flags[@]}" ;;
	redis-redis) one redis redis redis-benchmark -p $port -c "$conns" -n $((seconds * 60000)) -t set --csv --precision 3 ;;
	redis-netco) one redis netco "${load[@]}" redis://127.0.0.1:$port -redis 'SET key:1 xxx' "${flags[@]}" ;;
	*-wrk) one "$1" wrk wrk -t1 -c"$conns" -d"${seconds}s" --latency http://127.0.0.1:$port/$path ;;
	*-netco) one "$1" netco "${load[@]}" http://127.0.0.1:$port/$path "${flags[@]}" ;;
	esac
}

# serve starts the server of a protocol.
serve() {
	case $1 in
	tcp) set -- "$out/echo" 127.0.0.1 4096 $port ;;
	http) set -- "$out/http" -addr 127.0.0.1:$port -processors 1 ;;
	nethttp) set -- "$out/peers" http nethttp 127.0.0.1:$port ;;
	nginx)
		cat >"$out/nginx.conf" <<-END
			daemon off; master_process off; worker_processes 1; pid $out/nginx.pid; error_log $out/nginx.log;
			events { worker_connections 10000; }
			http {
				access_log off; keepalive_requests 1000000000;
				server { listen 127.0.0.1:$port; location / { return 200 "hello, world\n"; } }
			}
		END
		set -- nginx -c "$out/nginx.conf" -p "$out"
		;;
	redis) set -- redis-server --bind 127.0.0.1 --port $port --save "" --appendonly no --dir "$out" ;;
	esac
	GOMAXPROCS=1 taskset -c 0 "$@" >/dev/null &
	pid=$!
	sleep 0.5
}

# compare runs the rounds of one protocol, and prints the medians of the ratios within each round.
compare() { # protocol peer programs...
	local program
	for program in "${@:3}"; do
		command -v "$program" >/dev/null || { echo "$1: left out, $program is not installed"; return 0; }
	done
	port=$((port + 1))
	serve "$1"
	for ((round = 1; round <= rounds; round++)); do
		order=(netco "$2")
		((round % 2)) || order=("$2" netco)
		for generator in "${order[@]}"; do generate "$1" "$generator"; done
	done
	kill $pid
	wait $pid || true
	pid=
	ratio "$1" "$2" 3 "requests per second"
	[[ $2 == c ]] || ratio "$1" "$2" 4 p50
	[[ $2 == c ]] || ratio "$1" "$2" 5 p99
	ratio "$1" "$2" 6 "CPU per request"
}

ratio() { # protocol peer column name
	awk -v p="$1" -v peer="$2" -v at="$3" '$1 == p {v[$2, ++n[$2]] = $at}
		END {for (i = 1; i <= n[peer]; i++) print v[peer, i] / v["netco", i]}' "$out/all" | sort -n |
		awk -v p="$1" -v peer="$2" -v name="$4" '{r[NR] = $1} END {
			m = (r[int((NR+1)/2)] + r[int(NR/2)+1]) / 2
			printf "%-7s %s, %s to netco-bench: median %.3f, %.3f to %.3f\n", p, name, peer, m, r[1], r[NR]}'
}

PATH=$PATH:/usr/sbin
echo "        generator req/s   p50 µs   p99 µs CPU µs/req"
for protocol in ${PROTOCOLS:-tcp http nethttp nginx redis}; do
	case $protocol in
	tcp) compare tcp c ;;
	nginx) compare nginx wrk wrk nginx ;;
	redis) compare redis redis redis-benchmark redis-server ;;
	*) compare "$protocol" wrk wrk ;;
	esac
done
