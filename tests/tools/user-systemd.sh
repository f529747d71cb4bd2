#!/usr/bin/env bash
# Runs a command under a `systemd --user` manager of its own, also where PID 1 is not systemd.
#
#   tests/tools/user-systemd.sh COMMAND [ARGUMENT...]
#
# The command sees XDG_RUNTIME_DIR and DBUS_SESSION_BUS_ADDRESS of that manager, a private /run, and a /sys/fs/cgroup that
# holds nothing but a fresh subtree. The machine's own mounts and cgroups stay as they are, and whatever the command leaves
# running in the subtree is killed at the end. The exit status is the command's, or 77 when no manager can be had here
# (not root, no systemd, no cgroup v2).
set -euo pipefail

readonly systemd=/lib/systemd/systemd

cannot() {
    echo "user-systemd.sh: $*" >&2
    exit 77
}

# Second stage, in namespaces of its own and in a cgroup of its own: a manager sweeps every process of the cgroup it finds
# itself in into a scope of its own, so that cgroup must never be one that others live in.
inside() {
    umount -R /sys/fs/cgroup 2>/dev/null || true
    mount -t cgroup2 none /sys/fs/cgroup
    mount -t tmpfs -o mode=755 none /run
    # What systemd looks at to see whether the machine was booted with it.
    mkdir -p /run/systemd/system
    export XDG_RUNTIME_DIR=/run/user/0
    export DBUS_SESSION_BUS_ADDRESS=unix:path=$XDG_RUNTIME_DIR/bus
    mkdir -p -m 700 "$XDG_RUNTIME_DIR"
    SYSTEMD_LOG_TARGET=console SYSTEMD_LOG_LEVEL=warning "$systemd" --user </dev/null &
    local manager=$! state='' deadline=$((SECONDS + 20))
    until [[ $state == running || $state == degraded ]]; do
        kill -0 "$manager" 2>/dev/null || cannot 'the manager ended at once'
        ((SECONDS < deadline)) || cannot 'the manager did not come up within 20s'
        sleep 0.02
        state=$(timeout 5 systemctl --user is-system-running 2>/dev/null || true)
    done
    local status=0
    "$@" || status=$?
    exit "$status"
}

if [[ ${1-} == --inside ]]; then
    shift
    inside "$@"
fi

[[ $# -gt 0 ]] || { echo "usage: $0 COMMAND [ARGUMENT...]" >&2; exit 64; }
[[ $(id -u) == 0 ]] || cannot 'only root can make the namespaces'
[[ -x $systemd ]] || cannot "there is no $systemd"
for tool in systemctl systemd-run unshare findmnt; do
    command -v "$tool" >/dev/null || cannot "there is no $tool"
done

hierarchy=$(findmnt -n -t cgroup2 -o TARGET | head -n 1) || true
[[ -n $hierarchy ]] || cannot 'no cgroup v2 hierarchy is mounted'
subtree=$(mktemp -d "$hierarchy/farhelm-test.XXXXXX") || cannot "no cgroup can be made in $hierarchy"

sweep() {
    echo 1 >"$subtree/cgroup.kill" 2>/dev/null || true
    for _ in {1..200}; do
        grep -q '^populated 0' "$subtree/cgroup.events" 2>/dev/null && break
        sleep 0.02
    done
    find "$subtree" -depth -type d -exec rmdir {} + 2>/dev/null || true
}
trap sweep EXIT
trap 'exit 143' TERM INT HUP

status=0
(
    echo "$BASHPID" >"$subtree/cgroup.procs"
    exec unshare --mount --cgroup --propagation private -- "$(readlink -f "$0")" --inside "$@"
) <&0 &
wait $! || status=$?
exit "$status"
