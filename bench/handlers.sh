#!/usr/bin/env bash
# Alternating rounds of netco-bench load against bench/handlers: http.Handlers on netco, and on net/http. One core for the server, another
# for the load; both for both in the workload half, 20,000 requests a second. Prints requests/s, p50, p99, CPU µs per request, and for idle
# connections their memory: 9,000 that have been opened, the same after TLS's handshake, and 2,000 WebSockets with 200 messages a second.
# In the workload fast the peer is fasthttp on package net, with a hello of its own.
#
#	bench/handlers.sh [rounds] [seconds] [workload ...]
#
# The workloads are hello thousand json chi done pipelined file sql query half fast idle tlsidle websockets; all by default.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
rounds=${1:-5} seconds=${2:-4} port=18180 out=$(mktemp -d) pid= tls=
shift $(($# < 2 ? $# : 2))
trap '[[ -z $pid ]] || kill $pid 2>/dev/null; rm -rf "$out"' EXIT
go build -o "$out/handlers" ./handlers
(cd .. && go build -o "$out/netco-bench" ./cmd/netco-bench)
printf '{"id":1,"name":"x","lines":["%s"]}' "$(printf 'line,%.0s' {1..190})" >"$out/order"
declare -A path=([hello]=/hello [thousand]=/hello [json]=/json/a [done]=/done [pipelined]=/hello [file]=/file
	[sql]=/sql [query]=/sql [chi]=/chi/a [half]=/hello [fast]=/hello)
declare -A flags=([hello]="-c 64" [thousand]="-c 1000" [json]="-c 64 -method POST -body @$out/order" [done]="-c 64"
	[pipelined]="-c 64 -pipeline 16" [file]="-c 8" [sql]="-c 64" [query]="-c 64 -rate 8k"
	[chi]="-c 64 -method POST -body @$out/order" [half]="-c 64 -rate 20k" [fast]="-c 64")
declare -A idles=([idle]="http 9000 /hello -c 1 -idle 9000" [tlsidle]="https 9000 /hello -c 1 -idle 9000"
	[websockets]="ws 2000 /ws -c 2000 -rate 200")

ticks() { awk '{print $14+$15}' "/proc/$1/stat"; } # of 10 ms
memory() { awk '/^Rss(Anon|Shmem)/ {n += $2} END {print n}' "/proc/$1/status"; } # KiB

# begin ENGINE [CORES] starts a server, and sets what begins a command on the load's cores.
begin() {
	local serve=(taskset -c 0)
	on="taskset -c 1"
	[[ ${2-1} == 1 ]] || serve=(env) on=""
	port=$((port + 1))
	# shellcheck disable=SC2086
	"${serve[@]}" "$out/handlers" -engine "$1" -addr 127.0.0.1:$port -processors "${2-1}" $tls 2>/dev/null &
	pid=$!
	sleep 0.4
}
end() {
	kill $pid
	wait $pid || true
	pid=
}

measure() { # workload engine
	local before after cores=1
	[[ $1 != half ]] || cores=2
	begin "$2" $cores
	# shellcheck disable=SC2086
	$on "$out/netco-bench" load "http://127.0.0.1:$port${path[$1]}" ${flags[$1]} -d 1s -q >/dev/null
	before=$(ticks $pid)
	# shellcheck disable=SC2086
	$on "$out/netco-bench" load "http://127.0.0.1:$port${path[$1]}" ${flags[$1]} -d "${seconds}s" >"$out/load" 2>/dev/null
	after=$(ticks $pid)
	end
	awk -v what="$1" -v who="$2" -v used=$((after - before)) -v s="$seconds" '
		function us(t) {return t ~ /µs$/ ? t + 0 : t ~ /ms$/ ? t * 1e3 : t * 1e6}
		$1 == "requests" {gsub(",", "", $2); n = $2} $1 == "p50" {p50 = us($2)} $1 == "p99" {p99 = us($2)} $1 == "errors" {errors = $2}
		END {printf "%-10s %-6s %9.0f %9.0f %9.0f %8.3f %s\n", what, who, n/s, p50, p99, used*10000/n, errors}' "$out/load" | tee -a "$out/all"
}

idle() { # workload engine
	local before after scheme n path load port16 trust=() how
	read -r scheme n path how <<<"${idles[$1]}"
	[[ $scheme != https ]] || tls=-tls trust=(-insecure)
	begin "$2"
	tls=
	"$out/netco-bench" load "$scheme://127.0.0.1:$port$path" "${trust[@]}" -c 1 -d 1s -q >/dev/null
	before=$(memory $pid)
	# shellcheck disable=SC2086
	"$out/netco-bench" load "$scheme://127.0.0.1:$port$path" "${trust[@]}" $how -d 10s -q >/dev/null &
	load=$!
	port16=$(printf :%04X $port)
	until [[ $(awk -v at="$port16" '$2 ~ at && $4 == "01"' /proc/net/tcp | wc -l) -ge $n ]]; do
		kill -0 $load
		sleep 0.2
	done
	sleep 5
	after=$(memory $pid)
	wait $load || true
	end
	awk -v what="$1" -v who="$2" -v kib=$((after - before)) -v n="$n" \
		'BEGIN {printf "%-10s %-6s %.2f KiB for each of %d\n", what, who, kib/n, n}'
}

echo "workload   engine     req/s    p50 µs    p99 µs   CPU µs errors"
for workload in "${@:-hello thousand json chi done pipelined file sql query half fast idle tlsidle websockets}"; do
	for w in $workload; do
		for ((round = 1; round <= rounds; round++)); do
			other=std
			[[ $w != fast ]] || other=fast
			order=(netco $other)
			((round % 2)) || order=($other netco)
			for engine in "${order[@]}"; do
				if [[ -n ${idles[$w]-} ]]; then ((round > 1)) || idle "$w" "$engine"; else measure "$w" "$engine"; fi
			done
		done
	done
done
echo
[[ -e $out/all ]] && sort -k1,2 "$out/all" | awk '
	function median(column,   i, j, t, v) {
		for (i = 1; i <= n; i++) {
			t = rows[i, column]
			for (j = i; j > 1 && v[j-1] > t; j--) v[j] = v[j-1]
			v[j] = t
		}
		return v[int((n+1)/2)]
	}
	function flush() { if (n) printf "%-10s %-6s %9.0f %9.0f %9.0f %8.3f medians\n", w, e, median(3), median(4), median(5), median(6) }
	{ if ($1 != w || $2 != e) { flush(); n = 0; w = $1; e = $2 } n++; for (c = 3; c <= 6; c++) rows[n, c] = $c + 0 }
	END { flush() }'
