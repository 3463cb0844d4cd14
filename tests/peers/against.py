#!/usr/bin/env python3
"""Compares two builds of hapticd: `tests/peers/against.py OLD NEW SUITE... [--rounds N] [--seconds S] [--cpu K]`.

Each round runs `bench SUITE --json` with both builds, one right after the other on the same processor, in turns. Of each figure with a unit
of time the script prints the medians of both over the rounds, and the median over the rounds of the ratio new/old with its least and greatest. A
median (p50) whose ratio is above 1.05 is marked, and the exit code is then 1. For a worktree of an earlier commit:
`git worktree add DIR COMMIT && cargo build --release --manifest-path DIR/Cargo.toml`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

TIMES = ("ns", "us", "µs", "ms", "s")
WORSE = 1.05


def figures(program, suite, arguments):
    with tempfile.TemporaryDirectory() as out:
        command = [program, "bench", suite, "--json", "--seconds", str(arguments.seconds), "--out", out]
        pin = lambda: os.sched_setaffinity(0, {arguments.cpu})
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=pin if arguments.cpu is not None else None)
    if run.returncode:
        sys.exit(f"{' '.join(command)}: exit code {run.returncode}")
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return {(line["name"], line["stat"]): line["value"] for line in lines if line["unit"] in TIMES}


def compare(suite, arguments):
    rounds = []
    for number in range(arguments.rounds):
        pair = [figures(program, suite, arguments) for program in (arguments.old, arguments.new)[:: 1 - 2 * (number % 2)]]
        rounds.append(tuple(pair[:: 1 - 2 * (number % 2)]))
        print(f"{suite}: round {number + 1} of {arguments.rounds}", file=sys.stderr)
    is_worse = False
    keys = [key for key in rounds[0][0] if all(key in old and key in new and old[key] > 0 for old, new in rounds)]
    for name, stat in keys:
        old, new = ([pair[k][name, stat] for pair in rounds] for k in (0, 1))
        ratios = [b / a for a, b in zip(old, new)]
        middle = statistics.median(ratios)
        worse = stat == "p50" and middle > WORSE
        is_worse |= worse
        print(f"{suite:9} {name:44} {stat:6} {statistics.median(old):10.4g} {statistics.median(new):10.4g}  x {middle:.3f} "
              f"({min(ratios):.3f} to {max(ratios):.3f}){'  WORSE' if worse else ''}")
    return is_worse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=os.path.abspath)
    parser.add_argument("new", type=os.path.abspath)
    parser.add_argument("suites", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--cpu", type=int)
    arguments = parser.parse_args()
    results = [compare(suite, arguments) for suite in arguments.suites]
    sys.exit(1 if any(results) else 0)


if __name__ == "__main__":
    main()
