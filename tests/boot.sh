#!/bin/sh
# Boots a small Debian in a container, with hapticd installed by systemd/install.sh, and lets the real systemd judge: start,
# status, reload, a loop that hangs, stop, removal. Not part of `cargo test`: it needs root and fetches Debian once.
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
    mmdebstrap --variant=minbase --include=systemd,systemd-sysv,udev,dbus,liblo-tools bookworm "$root"
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

timeout 300 systemd-nspawn --quiet --register=no --keep-unit --boot --directory="$root" >"$root.log" 2>&1 </dev/null || true
cat "$root/probe.log"
[ "$(tail -n 1 "$root/probe.log")" = "0 failed" ]
