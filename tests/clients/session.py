"""A whole session with python-osc: load, start, change, watch, halt, be refused, acknowledge, start, stop.

usage: session.py OSC_PORT. Prints one JSON object of figures at the end.
"""

import json
import sys

from pythonosc.osc_bundle_builder import IMMEDIATELY, OscBundleBuilder
from pythonosc.osc_message_builder import OscMessageBuilder
from talk import Talk, expect

STIFFNESS = "/hapticd/coupling/stiffness"
DAMPING = "/hapticd/coupling/damping"


def main():
    talk = Talk(int(sys.argv[1]))
    load(talk)
    talk.do("/hapticd/start")
    state(talk, "ENABLED")
    change(talk)
    figures = watch(talk)
    halt(talk)
    talk.do("/hapticd/start")
    state(talk, "ENABLED")
    talk.do("/hapticd/stop")
    state(talk, "DISABLED")
    words = [rest[0] for address, rest in talk.heard if address == "/hapticd/event/state"]
    wanted = ["ENABLED", "FAULT", "DISABLED", "ENABLED", "DISABLED"]
    expect(words == wanted, f"the states went {words}")
    print(json.dumps(figures))


def state(talk, wanted):
    """Asks once: `done` says that the loop has taken it over."""
    (found,) = talk.ask("/hapticd/state")
    expect(found == wanted, f"the state is {found}, not {wanted}")


def load(talk):
    program, version, _table = talk.ask("/hapticd/version", answer="/hapticd/version.reply")
    expect(program == "hapticd" and version, f"who is {program} {version}?")
    (count,) = talk.ask("/hapticd/scene/list", answer="/hapticd/scene/list.end")
    scenes = [rest[0] for address, rest in talk.heard if address == "/hapticd/scene/list.reply"]
    expect(len(scenes) == count and "box_on_table" in scenes, f"{count} scenes: {scenes}")
    talk.do("/hapticd/notify", 1)
    talk.refused("/hapticd/scene/load", "box_on_tabel", code=404)
    talk.do("/hapticd/scene/load", "box_on_table")
    expect(talk.ask("/hapticd/scene/name") == ["box_on_table"], "another scene is loaded")


def change(talk):
    """Sets parameters: one by one, of every type of number, out of range, several at once."""
    (first,) = talk.ask(STIFFNESS)
    expect(first > 1.0, f"a stiffness of {first}")
    # A whole number arrives as such: Python writes 200, and means it.
    for value in (round(first / 2), first * 0.75, first):
        talk.do(STIFFNESS, value)
        (now,) = talk.ask(STIFFNESS)
        expect(abs(now - value) < 1e-3 * first, f"{now} after {value} was set")
    talk.refused(STIFFNESS, 1e9, code=422)
    talk.refused(STIFFNESS, float("nan"), code=400)
    talk.refused(STIFFNESS, "stiff", code=400)
    talk.refused("/hapticd/coupling/stifness", 300.0, code=404)
    talk.refused("/hapticd/*", code=400)
    talk.refused("/hapticd/scene/load", "virtual_wall", code=409)
    (damping,) = talk.ask(DAMPING)

    def both(stiffness):
        bundle = OscBundleBuilder(IMMEDIATELY)
        for address, value in ((STIFFNESS, stiffness), (DAMPING, damping / 2)):
            message = OscMessageBuilder(address)
            message.add_arg(float(value))
            bundle.add_content(message.build())
        talk.client.send(bundle.build())
        return [talk.outcome(address)[0].rsplit("/", 1)[1] for address in (STIFFNESS, DAMPING)]

    expect(both(1e9) == ["fail", "fail"], "half of a bundle was done")
    expect(abs(talk.ask(DAMPING)[0] - damping) < 1e-6, "the damping of a refused bundle was set")
    expect(both(first / 2) == ["done", "done"], "a good bundle was refused")
    expect(abs(talk.ask(DAMPING)[0] - damping / 2) < 1e-6, "the damping of a bundle was not set")


def watch(talk):
    """Subscribes at 100 Hz and judges the stream by its own numbers and times."""
    stream, rate, lease = talk.do("/hapticd/subscribe", "measured_cp", 100.0)
    expect((stream, rate) == ("measured_cp", 100.0) and lease > 1, f"subscribed to {stream} at {rate} for {lease} s")
    heard = [rest for address, rest in talk.listen(3.0) if address == "/hapticd/stream/measured_cp"]
    expect(len(heard) > 2, f"{len(heard)} samples in 3 s at 100 Hz")
    numbers = [rest[0] for rest in heard]
    times = [rest[1] + rest[2] * 1e-9 for rest in heard]
    expect(numbers == sorted(set(numbers)), "samples twice or out of order")
    expect(times == sorted(times), "times run backwards")
    due = numbers[-1] - numbers[0] + 1
    rate = (due - 1) / (times[-1] - times[0])
    expect(95.0 < rate < 105.0, f"{rate} Hz by the daemon's own clock")
    expect(len(heard) > due / 2, f"{len(heard)} of {due} samples came")
    for sample in heard:
        norm = sum(part * part for part in sample[6:10])
        expect(len(sample) == 10 and abs(norm - 1.0) < 1e-3, f"no pose: {sample}")
    talk.do("/hapticd/unsubscribe", "measured_cp")
    after = [address for address, _ in talk.listen(0.5) if address == "/hapticd/stream/measured_cp"]
    expect(not after, f"{len(after)} samples after unsubscribe was done")
    talk.refused("/hapticd/subscribe", "measured_cq", 100.0, code=404)
    talk.refused("/hapticd/subscribe", "measured_cp", 1e6, code=422)
    return {"samples": len(heard), "due": due, "rate_hz": round(rate, 2)}


def halt(talk):
    """Halts; nothing starts until the fault is acknowledged, and the acknowledgement starts nothing."""
    talk.do("/hapticd/halt")
    talk.wait(lambda address, rest: address == "/hapticd/event/state" and rest[0] == "FAULT", "event of FAULT")
    state(talk, "FAULT")
    why = talk.refused("/hapticd/start", code=409)
    expect("ack" in why, f"the refusal does not say what to do: {why}")
    talk.ask("/hapticd/fault/list", answer="/hapticd/fault/list.end")
    waiting = [rest for address, rest in talk.heard if address == "/hapticd/fault/list.reply" and rest[4] and not rest[5]]
    expect(len(waiting) == 1 and waiting[0][1] == "F06", f"the faults that wait: {waiting}")
    expect("127.0.0.1" in waiting[0][7], f"it does not say who halted: {waiting}")
    talk.insist("/hapticd/fault/ack")  # it is refused while the handle still moves
    state(talk, "DISABLED")


if __name__ == "__main__":
    main()
