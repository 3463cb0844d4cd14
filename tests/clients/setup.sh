#!/bin/sh
# Puts the Python clients of requirements.txt where the tests look for them: below target, never into the system.
set -eu
cd "$(dirname "$0")/../.."
venv="${CARGO_TARGET_DIR:-target}/clients-venv"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --requirement tests/clients/requirements.txt
