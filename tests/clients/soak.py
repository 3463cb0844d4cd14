"""Ten minutes at full rate with four subscribers: does the daemon's memory stay what it is?

usage: soak.py PROGRAM [SECONDS], with the Python of tests/clients/setup.sh:

    cargo build --release --locked
    target/clients-venv/bin/python tests/clients/soak.py target/release/hapticd 600

Starts PROGRAM on free ports with the simulated operator at work, prints memory and figures every ten seconds and ends with
one JSON object. Exit code 1 when memory grew by more than 1 MB after the first minute, or a stream was cut off.
"""

import json
import selectors
import subprocess
import sys
import tempfile
import time

from pythonosc.osc_message import OscMessage
from talk import PATIENCE_S, Talk, expect

RATES_HZ = (100.0, 250.0, 500.0, 1000.0)
STREAMS = ("measured_cp", "servo_cf", "energy", "timing")
REPORT_S = 10.0
RENEW_S = 10.0
GROWTH_KB = 1024


def main():
    program = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 600.0
    with tempfile.TemporaryDirectory() as directory:
        with open(f"{directory}/hapticd.toml", "w", encoding="utf-8") as file:
            file.write('format = "hapticd-config/1"\n[paths]\nstate = "state"\n[osc]\nport = 0\nquery_port = 0\n')
        command = [program, "run", "--allow-no-rt", "--config", file.name]
        # Into a file: nobody would empty a pipe, and a full one stops whoever logs into it.
        with open(f"{directory}/log", "w", encoding="utf-8") as log, subprocess.Popen(command, stderr=log) as daemon:
            try:
                soak(daemon, port_of(log.name), seconds)
            finally:
                daemon.terminate()


def port_of(log):
    """Waits until the daemon has said where it listens."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with open(log, encoding="utf-8") as file:
            said = file.read()
        if "listening: " in said and "udp://" in said:
            return int(said.split("udp://")[1].split(",")[0].rsplit(":", 1)[1])
        time.sleep(0.1)
    raise SystemExit(f"the daemon did not start:\n{said}")


def resident_kb(daemon):
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def soak(daemon, port, seconds):
    control = Talk(port)
    control.do("/hapticd/start")
    selector = selectors.DefaultSelector()
    counts = {}
    for stream, rate in zip(STREAMS, RATES_HZ):
        talk = Talk(port)
        talk.do("/hapticd/subscribe", stream, rate)
        selector.register(talk.client._sock, selectors.EVENT_READ, (talk, stream))
        counts[stream] = 0
    start = time.monotonic()
    report, renew, settled_kb = start, start, None
    while (now := time.monotonic()) < start + seconds:
        if now >= renew:
            renew += RENEW_S
            for key in list(selector.get_map().values()):
                key.data[0].send("/hapticd/ping", 0)
        if now >= report:
            report += REPORT_S
            memory_kb = resident_kb(daemon)
            if now - start <= 60.0:
                settled_kb = memory_kb
            print(f"{now - start:6.0f} s  {memory_kb} kB  {memory_kb - settled_kb:+d} kB  {counts}", flush=True)
        for key, _events in selector.select(0.1):
            talk, stream = key.data
            while data := talk.client.receive(0.0):
                counts[stream] += OscMessage(data).address == f"/hapticd/stream/{stream}"
    finish(daemon, control, counts, settled_kb, time.monotonic() - start)


def finish(daemon, control, counts, settled_kb, seconds):
    status = control.ask("/hapticd/status", answer="/hapticd/status.reply")
    growth_kb = resident_kb(daemon) - settled_kb
    rates = {stream: round(count / seconds, 1) for stream, count in counts.items()}
    figures = {"seconds": round(seconds), "rss_kb": settled_kb, "growth_kb": growth_kb, "rates_hz": rates}
    print(json.dumps({**figures, "state": status[0], "overruns": status[6], "late_p999_us": round(status[5])}))
    expect(growth_kb < GROWTH_KB, f"memory grew by {growth_kb} kB")
    for stream, rate in zip(STREAMS, RATES_HZ):
        # Half is loose on purpose: a busy machine loses samples, a stream that was cut off loses them all.
        expect(rates[stream] > rate / 2, f"{stream} came at {rates[stream]} Hz, not at {rate}")


if __name__ == "__main__":
    main()
