#!/usr/bin/env bash
# The loads of docs/SCALING.md, measured on this machine: netco with its defaults beside net, which has one queue for all cores. Loads of all
# cores follow how many there are; the generator is on the same ones.
#
#	bench/scale.sh [rounds [time]]
#
# Environment: ECHO_NS, what an echo without a handler takes, by which a part of a core becomes a rate; THREADS of the generator; CORES.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-3} time=${2:-1s} echo_ns=${ECHO_NS:-5000} cores=${CORES:-$(nproc)} threads=${THREADS:-$(((cores + 3) / 4))}
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin" ./cmd/netco-bench

beside=() # a command that the echo runs under

# row NAME [flags of echo] prints the medians of netco's ratios to net's: p50, p90, p99, CPU time.
row() {
	local name=$1 out
	shift
	if ! out=$("${beside[@]}" "$bin/netco-bench" echo -procs "$cores" -threads "$threads" -rounds "$rounds" -d "$time" "$@" 2>"$bin/error"); then
		printf '| %s | %s |\n' "$name" "$(tail -1 "$bin/error")"
		return
	fi
	awk -F '  +' -v name="$name" '
		{for (i = 3; i <= NF; i++) if ($i ~ /^[0-9]+[.][0-9][0-9]$/) ratio[$2] = $i}
		/^[a-z]+: less than/ {short = " " $0}
		END {print "| " name " | " ratio["p50"], ratio["p90"], ratio["p99"], ratio["server CPU/request"] " |" short}' <<<"$out"
}

# open NAME PERCENT CORES NS WORK [flags]: an open loop that keeps a part of so many cores busy with requests of NS each.
open() {
	row "$1" -conns 256 -rate $(($2 * $3 * 10000000 / ($4 + echo_ns))) -arrival poisson ${5:+-work "$5"} "${@:6}"
}

echo "| load, $cores cores | p50 p90 p99 CPU, of net's |"
echo "|---|---|"
row "closed loop, 64 connections, echo" -conns 64
row "closed loop, 8 connections a core, 100 µs" -conns $((8 * cores)) -work 100us
for part in 10 50 90 99; do open "$part % of one core, echo" $part 1 0 ""; done
for part in 10 50 90 99; do open "$part % of one core, 100 µs" $part 1 100000 100us; done
for part in 10 50 80 90 95 99; do open "$part % of all, 100 µs" $part "$cores" 100000 100us; done
open "5 µs, and 2 ms in 5 %, 50 % of all" 50 "$cores" 104750 5us,2ms:0.05
beside=(bench/busy.sh $(((cores + 1) / 2)))
open "busy loops on half of the cores, 40 % of all, 100 µs" 40 "$cores" 100000 100us
beside=(bench/quota.sh "$(awk "BEGIN {print $cores / 2}")")
open "a quota of half of the cores, 40 % of all, 100 µs" 40 "$cores" 100000 100us
