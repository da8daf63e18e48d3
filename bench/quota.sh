#!/usr/bin/env bash
# netco-bench echo with its servers in a cpu cgroup that leaves them a part of a core, of cgroup v2 where that has the controller, of
# v1 otherwise.
#
#	bench/quota.sh CORES netco-bench echo [flags]
set -euo pipefail
quota=$(awk "BEGIN {printf \"%d\", $1 * 100000}") group=
shift
for parent in "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)" /sys/fs/cgroup /sys/fs/cgroup/cpu; do
	group=$parent/netco-bench-$$
	mkdir "$group" 2>/dev/null || continue
	trap 'rmdir "$group"' EXIT
	if [[ -w $group/cpu.max ]]; then
		echo "$quota 100000" >"$group/cpu.max"
		break
	elif [[ -w $group/cpu.cfs_quota_us ]]; then
		echo "$quota" >"$group/cpu.cfs_quota_us"
		break
	fi
	rmdir "$group"
	trap - EXIT
done
[[ -e $group/cgroup.procs ]] || { echo "no cpu cgroup can be made here" >&2; exit 1; }
"$@" -cgroup "$group"
