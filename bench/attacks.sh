#!/usr/bin/env bash
# 50 clients of a server of http.Handlers at a fixed rate, without and with each attack of bench/attack, in alternating rounds: on netco's
# server and on net/http's, with a limit of 1 s for reading a request and for writing its answer. The server has one core, generator and
# attackers the other, the attackers at a low priority. The ratios are to the rounds without an attack; below stand the attacks that the
# server has ended, those that have sent all they had, and those that it has not ended within 10 s.
#
#	bench/attacks.sh [rounds] [time of a round]     environment: CONNS, RATE, SERVERS, ATTACKS, HOW
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-3} time=${2:-2s} conns=${CONNS:-50} rate=${RATE:-2000} servers=${SERVERS:-netco std} how=${HOW:--at-once 1 -every 100ms}
IFS=, read -ra attacks <<<"${ATTACKS:-smuggling,header,url,slow header,slow body,slow reader,rapid reset,continuation}"
address=127.0.0.1:18700
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/netco-bench" ./cmd/netco-bench
(cd bench && go build -o "$work/handlers" ./handlers && go build -o "$work/attack" ./attack)

for name in $servers; do
	server="env taskset -c 0 $work/handlers -engine $name -limit 1s -addr $address"
	sides=(-side "alone=$server")
	for attack in "${attacks[@]}"; do
		sides+=(-side "$attack=nice -n 19 taskset -c 1 $work/attack $how '$attack' $address >>'$work/of $attack' & $server")
	done
	echo "== $name, $conns clients, $rate requests/s; attacks: $how"
	taskset -c 1 "$work/netco-bench" compare "${sides[@]}" "http://$address/hello" -c "$conns" -rate "$rate" -d "$time" -warmup 500ms \
		-rounds "$rounds" -q | grep -E '^[a-z]: |^ +(better|requests/s|p50|p99|errors) ' || echo "$name: not finished"
	for attack in "${attacks[@]}"; do
		awk -v what="$attack" '{ a += $1; b += $2; c += $3 } END { print what ": " a + 0 " ended, " b + 0 " sent, " c + 0 " not" }' "$work/of $attack"
		rm "$work/of $attack"
	done
	echo
done
