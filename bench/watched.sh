#!/usr/bin/env bash
# What it costs a server to be watched: an echo server without watchdog and metrics (netco-bare) beside the same with the watchdog on
# and its metrics collected once a second (netco-watched), in alternating rounds on one core; then the CPU time of each thread of
# either server over ten seconds of the same load. What is not the Processor's own thread is what watching, scraping and the
# runtime cost; rounds on a shared machine differ by more.
#
#	bench/watched.sh [rounds] [time per round]
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-24} time=${2:-2s} out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
go build -o "$out/bench" ./cmd/netco-bench
echo "# bench/watched.sh $rounds $time"
echo "# $(date -u +%F), $(uname -sr), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) cores, $(go version | cut -d' ' -f3)"
echo
"$out/bench" echo -pin -procs 1 -servers netco-bare,netco-watched -conns 64,1000 -rounds "$rounds" -d "$time" -warmup 500ms 2>/dev/null

# threads prints the id and the CPU time in ns of each thread of a process.
threads() {
	local t
	for t in "/proc/$1"/task/*; do
		echo "${t##*/} $(cut -d' ' -f1 "$t/schedstat")"
	done
}

for server in netco-bare netco-watched; do
	"$out/bench" echo -pin -procs 1 -conns 64 -servers $server -rounds 1 -d 13s -warmup 500ms >/dev/null 2>&1 &
	sleep 2
	pid=$(pgrep -f "^$out/bench serve $server " | head -1)
	threads "$pid" >"$out/before"
	sleep 10
	threads "$pid" >"$out/after"
	wait
	echo "$server, CPU time of each thread in 10 s, ms:" \
		"$(join "$out/before" "$out/after" | awk '$3 > $2 { printf "%.1f\n", ($3 - $2) / 1e6 }' | sort -rn | tr '\n' ' ')"
done
