#!/bin/sh
# Runs `hapticd bench assembly` beside MuJoCo and Rapier: tests/peers/assembly/run.sh [PATH OF HAPTICD] [OPTIONS OF bench].
# Makes a Python environment and builds Rapier's program in target/peers on the first run, which needs the network.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
program=${1:-$root/target/release/hapticd}
[ $# -eq 0 ] || shift
venv=$root/target/peers/venv
export CARGO_TARGET_DIR="$root/target/peers/rapier"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import mujoco, numpy' 2>/dev/null || "$venv/bin/pip" install --quiet 'mujoco==4.0.0' numpy
cargo build --release --quiet --manifest-path "$here/rapier/Cargo.toml"
PATH="$venv/bin:$PATH" exec "$program" bench assembly --peers "$here/peers.json" "$@"
