#!/usr/bin/env bash
# 50 clients of a TLS server at a fixed rate, without and with an attack on the locks of other connections (bench/attack), in alternating
# rounds; one coroutine reads each connection and another writes it (bench/peers halves). The servers: netco/tls, crypto/tls on net, and
# crypto/tls on coroutines. Peers that only shake hands, as often as the attackers do, show what of it are handshakes. On one core the
# generator and the attackers have the other one, the attackers at a low priority. The ratios are to the rounds without peers.
#
#	bench/tls.sh [rounds] [time of a round]     environment: CONNS, RATE, CORES="one all", SERVERS, ATTACKS
#
# The CPU time of a TLS echo is measured by bench/peers.sh tls.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-6} time=${2:-3s} conns=${CONNS:-50} rate=${RATE:-2000} cores=${CORES:-one all} servers=${SERVERS:-netco net netco-crypto-tls}
attacks=${ATTACKS:-1:20ms 50:1s} # how many at once, and how often
address=127.0.0.1:18600
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/netco-bench" ./cmd/netco-bench
(cd bench && go build -o "$work/peers" ./peers && go build -o "$work/attack" ./attack)

for on in $cores; do
	server="env $work/peers halves" attacker="nice -n 19 $work/attack" load=("$work/netco-bench")
	if [[ $on == one ]]; then
		server="env GOMAXPROCS=1 taskset -c 0 $work/peers halves" attacker="nice -n 19 taskset -c 1 $work/attack"
		load=(taskset -c 1 "$work/netco-bench")
	fi
	for name in $servers; do
		sides=(-side "alone=$server $name $address")
		for attack in $attacks; do
			at="-at-once ${attack%:*} -every ${attack#*:}"
			sides+=(-side "${attack%:*} handshake(s) each ${attack#*:}=$attacker $at handshake $address >>$work/handshakes & $server $name $address"
				-side "${attack%:*} attack(s) each ${attack#*:}=$attacker $at locks $address >>$work/attacks & $server $name $address")
		done
		echo "== $name, $on core(s), $conns clients, $rate requests/s"
		"${load[@]}" compare "${sides[@]}" "tls://$address" -insecure -c "$conns" -rate "$rate" -d "$time" -warmup 1s -rounds "$rounds" -q |
			grep -E '^[a-z]: |^ +(better|requests/s|p50|p99|errors) ' || echo "$name, $on core(s): not finished"
		echo
	done
done
for kind in handshakes attacks; do
	awk -v kind=$kind '{ done += $1; failed += $3 } END { print kind ": " done + 0 " succeeded, " failed + 0 " failed" }' "$work/$kind"
done
