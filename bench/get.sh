#!/usr/bin/env bash
# Alternating rounds of 64 clients that ask a server of net/http for a small page: coroutines by netco/net/http's Transport, and goroutines
# by net/http's. One core for the clients, another for the server.
#
#	bench/get.sh [rounds] [seconds]     environment: CONNS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
rounds=${1:-5} seconds=${2:-4} conns=${CONNS:-64} address=127.0.0.1:18700
out=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill $pid 2>/dev/null; rm -rf "$out"' EXIT
go build -o "$out/get" ./get
GOMAXPROCS=1 taskset -c 1 "$out/get" serve $address &
pid=$!
sleep 0.5
for ((round = 1; round <= rounds; round++)); do
	order=(netco net)
	((round % 2)) || order=(net netco)
	for client in "${order[@]}"; do
		GOMAXPROCS=1 taskset -c 0 "$out/get" "$client" $address "$conns" "$seconds" | tee -a "$out/all"
	done
done
echo
for client in netco net; do
	awk -v c=$client '$1 == c {print $2, $4}' "$out/all" | sort -n | awk -v c=$client '
		{rate[NR] = $1; cpu[NR] = $2}
		END {
			for (i = 2; i <= NR; i++) { v = cpu[i]; for (j = i-1; j > 0 && cpu[j] > v; j--) cpu[j+1] = cpu[j]; cpu[j+1] = v }
			m = int((NR+1)/2); printf "%-6s median %9.0f req/s %7.2f CPU µs/req\n", c, rate[m], cpu[m]
		}'
done
