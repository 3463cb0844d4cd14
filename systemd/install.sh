#!/bin/sh
# Puts hapticd where systemd and udev look for it, or takes it away again. docs/install.md tells the same by hand.
set -eu

usage() {
    cat <<'END'
usage: systemd/install.sh [install|uninstall] [NAME=VALUE…]

  DESTDIR=DIR   put the files below DIR and change nothing on this system: for packages and tests
  PREFIX=DIR    where programs go; /usr/local unless told, /usr for a package
  BINARY=FILE   the program; target/release/hapticd unless told

Without DESTDIR it needs root, makes the user hapticd and has udev and systemd read the new files. It starts nothing.
uninstall leaves the configuration, the recordings and the user, and says how to remove them.
END
}

fail() {
    echo "install.sh: $1" >&2
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
verb=install
destdir=
prefix=/usr/local
binary="$here/../target/release/hapticd"
for argument in "$@"; do
    case $argument in
    install | uninstall) verb=$argument ;;
    DESTDIR=?*) destdir=${argument#DESTDIR=} ;;
    PREFIX=/*) prefix=${argument#PREFIX=} ;;
    BINARY=?*) binary=${argument#BINARY=} ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && fail "what is \`$argument\`?" ;;
    esac
done
if [ -z "$destdir" ] && [ "$(id -u)" -ne 0 ]; then
    fail "this changes the system: run it with sudo, or give a DESTDIR"
fi

program="$prefix/bin/hapticd"
unit="$prefix/lib/systemd/system/hapticd.service"
users="$prefix/lib/sysusers.d/hapticd.conf"
rules="$prefix/lib/udev/rules.d/70-hapticd.rules"
config=/etc/hapticd/hapticd.toml

# Edits a file of this repository on its way to its place: install_edited FILE PLACE SED-SCRIPT
install_edited() {
    install -d "$(dirname "$destdir$2")"
    sed "$3" "$1" >"$destdir$2.new"
    chmod 0644 "$destdir$2.new"
    mv "$destdir$2.new" "$destdir$2"
}

# Has the running system notice what has changed. A container has no udev, and one that is being built no systemd.
tell_system() {
    [ -z "$destdir" ] || return 0
    if [ -S /run/udev/control ]; then
        udevadm control --reload
        udevadm trigger --action=add --subsystem-match=misc --subsystem-match=usb --subsystem-match=tty \
            --subsystem-match=hidraw --subsystem-match=usb-serial
    fi
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
    fi
}

if [ "$verb" = uninstall ]; then
    if [ -z "$destdir" ] && [ -d /run/systemd/system ] && [ -e "$unit" ]; then
        systemctl disable --now hapticd.service
    fi
    rm -f "$destdir$program" "$destdir$unit" "$destdir$users" "$destdir$rules"
    tell_system
    echo "left in place: /etc/hapticd, /var/lib/hapticd and the user hapticd. To remove them too:"
    echo "  sudo rm -r /etc/hapticd /var/lib/hapticd && sudo userdel hapticd"
    exit 0
fi

[ -x "$binary" ] || fail "no program at $binary; build it with \`cargo build --release --locked\`, or give BINARY=FILE"
# Install replaces the name, so that a running daemon keeps the file it has.
install -D -m 0755 "$binary" "$destdir$program.new"
mv "$destdir$program.new" "$destdir$program"
install_edited "$here/hapticd.service" "$unit" "s#^ExecStart=/usr/local/#ExecStart=$prefix/#"
install -D -m 0644 "$here/hapticd.sysusers.conf" "$destdir$users"
install -D -m 0644 "$here/70-hapticd.rules" "$destdir$rules"
if [ -e "$destdir$config" ]; then
    echo "kept $config"
else
    # Installed, scenes and devices of one's own stand beside the file; the repository's schema is not there.
    install_edited "$here/../config/hapticd.toml" "$config" '/^#:schema/d; s#"\.\./\([a-z]*\)"#"\1"   #; s/ *$//'
fi
if [ -n "$destdir" ]; then
    echo "installed below $destdir"
    exit 0
fi
systemd-sysusers "$users"
tell_system
echo "installed; next: sudo systemctl enable --now hapticd"
