#!/bin/sh
# Boots a small Debian in a container, with hapticd installed by systemd/install.sh, and lets the real systemd judge: start,
# status, reload, a loop that hangs, a watchdog that strikes while force is on, stop, removal. Not part of `cargo test`: it needs root and fetches Debian once.
#
#     sudo apt install systemd-container mmdebstrap
#     cargo build --release --locked
#     sudo tests/boot.sh target/release/hapticd
#
# Containers often have no real-time rights to give, so the daemon is told to go on without them.
set -eu
cd "$(dirname "$0")/.."
program=${1:?usage: sudo tests/boot.sh PROGRAM}
root="${CARGO_TARGET_DIR:-target}/boot-root"

if [ ! -d "$root/usr" ]; then
    mmdebstrap --variant=minbase --include=systemd,systemd-sysv,udev,dbus,liblo-tools,procps bookworm "$root"
fi
rm -rf "$root/etc/hapticd" "$root/var/lib/hapticd" "$root/probe.log"
systemd/install.sh DESTDIR="$root" BINARY="$program"
install -D systemd/install.sh "$root/opt/hapticd/install.sh"

mkdir -p "$root/etc/systemd/system/hapticd.service.d" "$root/etc/systemd/system/multi-user.target.wants"
cat >"$root/etc/systemd/system/hapticd.service.d/test.conf" <<'END'
[Service]
ExecStart=
ExecStart=/usr/local/bin/hapticd run --allow-no-rt
EnvironmentFile=-/run/hapticd-test
END
cat >"$root/etc/systemd/system/probe.service" <<'END'
[Service]
Type=oneshot
ExecStart=/probe
StandardOutput=file:/probe.log
StandardError=file:/probe.log
ExecStopPost=/bin/systemctl poweroff --no-block
END
ln -sf ../probe.service "$root/etc/systemd/system/multi-user.target.wants/probe.service"
cat >"$root/probe" <<'END'
#!/bin/bash
# Runs inside. Each check prints one line; the last line of all says how many failed.
failed=0
check() {
    what=$1
    shift
    if "$@"; then echo "ok    $what"; else echo "FAIL  $what"; failed=$((failed + 1)); fi
}
show() { systemctl show hapticd --property="$1" --value; }
says() { for _ in $(seq 100); do show StatusText | grep -q "$1" && return 0; sleep 0.1; done; return 1; }
until_is() { for _ in $(seq 200); do [ "$(show "$1")" = "$2" ] && return 0; sleep 0.1; done; return 1; }
journal() { for _ in $(seq 100); do journalctl --unit=hapticd --output=cat | grep -q "$1" && return 0; sleep 0.1; done; return 1; }

check "starts and says that it is ready" systemctl start hapticd
check "is active" [ "$(show ActiveState)" = active ]
check "runs as its user" [ "$(stat -c %U "/proc/$(show MainPID)")" = hapticd ]
check "is in the groups of its devices" [ "$(grep -c "^Groups:.*$(getent group realtime | cut -d: -f3)" "/proc/$(show MainPID)/status")" = 1 ]
check "shows state, scene and rate" says "^DISABLED .* Hz"
show StatusText
check "keeps recordings from strangers" [ "$(stat -c '%U %a' /var/lib/hapticd)" = "hapticd 750" ]
oscsend 127.0.0.1 9740 /hapticd/start
check "obeys OSC" says "^ENABLED"
oscsend 127.0.0.1 9740 /hapticd/halt
check "halts" says "^FAULT"
check "writes fault data where it may" bash -c 'for _ in $(seq 50); do ls /var/lib/hapticd/* >/dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1'
oscsend 127.0.0.1 9740 /hapticd/fault/ack
check "acknowledges" says "^DISABLED"
check "reloads" systemctl reload hapticd
check "has read its configuration again" journal "read again"
check "is active after the reload" until_is ActiveState active
check "stops within its time" systemctl stop hapticd
check "has stopped well" [ "$(show Result)" = success ]

echo HAPTICD_STALL_AFTER=1s >/run/hapticd-test
check "starts with a loop that will hang" systemctl start hapticd
check "is ended by the watchdog" journal "Watchdog timeout"
rm /run/hapticd-test
check "is started again" until_is NRestarts 1
check "is active again" until_is ActiveState active
systemctl stop hapticd

# The watchdog while force is on: an emulated Inverse3, whose service holds the last force. What systemd does then is an ABRT to the whole
# control group; first by itself, after the daemon was stopped, then at once and again and again.
mkfifo /run/orders
exec 3<>/run/orders
hapticd emulate inverse3 --link /run/inverse3 --scene virtual_wall --wait never <&3 >/run/device.log &
cat >/etc/systemd/system/hapticd.service.d/zz-device.conf <<'CONF'
[Service]
ExecStart=
ExecStart=/usr/local/bin/hapticd run --allow-no-rt --scene virtual_wall --device inverse3 --device-port /run/inverse3
StartLimitIntervalSec=0
CONF
systemctl daemon-reload
clock() { perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%.6f", clock_gettime(CLOCK_MONOTONIC)'; }
last_is() { [ "$(grep "force o" /run/device.log | tail -n 1 | grep -c "force $1")" = 1 ]; }
pushes() { for _ in $(seq 600); do last_is on && return 0; sleep 0.05; done; return 1; }
# Starts, lets the hand push, strikes; prints after how many ms the force ended.
struck_by() {
    systemctl reset-failed hapticd 2>/dev/null
    for _ in 1 2 3 4 5; do
        # The hand may have let go, or a busy machine have ended the force: then nothing can be shown, and it is tried again.
        systemctl restart hapticd && says "^DISABLED" || continue
        oscsend 127.0.0.1 9740 /hapticd/start
        says "^ENABLED" && echo work >&3 && pushes && break
    done
    last_is on || { echo "      never pushed"; return 1; }
    began=$(clock)
    "$@"
    for _ in $(seq 60); do last_is off && break; sleep 0.05; done
    ended=$(grep "force off" /run/device.log | awk -v began="$began" '$1 >= began { print $1; exit }')
    echo rest >&3
    [ -n "$ended" ] || { echo "      force stays on"; return 1; }
    awk -v began="$began" -v ended="$ended" 'BEGIN { printf "      zero force after %.1f ms\n", 1000 * (ended - began) }'
}
check "force ends when the daemon is stopped" struck_by systemctl kill --kill-whom=main --signal=STOP hapticd
check "the watchdog ends it" until_is NRestarts 1
for _ in $(seq "${TRIES:-10}"); do
    check "force ends of an ABRT to the control group" struck_by systemctl kill --signal=ABRT hapticd
done
for _ in $(seq "${TRIES:-10}"); do
    check "force ends of a KILL to the daemon" struck_by systemctl kill --kill-whom=main --signal=KILL hapticd
done
echo quit >&3
rm /etc/systemd/system/hapticd.service.d/zz-device.conf
systemctl daemon-reload
systemctl stop hapticd

echo 'scenery = 1' >>/etc/hapticd/hapticd.toml
systemctl start hapticd 2>/dev/null && failed=$((failed + 1))
check "does not start again and again on a bad file" [ "$(show NRestarts) $(show ExecMainStatus)" = "0 2" ]
check "says what is wrong with the file" journal "scenery"

systemctl --quiet enable hapticd
/opt/hapticd/install.sh uninstall >/dev/null 2>&1
check "uninstalls" [ ! -e /usr/local/bin/hapticd ]
check "leaves no unit" [ "$(systemctl show hapticd --property=LoadState --value)" != loaded ]
echo "$failed failed"
END
chmod +x "$root/probe"

timeout 900 systemd-nspawn --quiet --register=no --keep-unit --boot --directory="$root" >"$root.log" 2>&1 </dev/null || true
cat "$root/probe.log"
[ "$(tail -n 1 "$root/probe.log")" = "0 failed" ]
