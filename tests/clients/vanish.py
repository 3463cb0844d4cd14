"""Subscribes at 50 Hz, hears one sample, prints its own port and the time of that sample, and dies without a word.

usage: vanish.py OSC_PORT
"""

import os
import sys

from talk import Talk

STREAM = "/hapticd/stream/timing"

talk = Talk(int(sys.argv[1]))
_stream, _rate, lease = talk.do("/hapticd/subscribe", STREAM, 50.0)
sample = talk.wait(lambda address, _: address == STREAM, "sample")
print(talk.client._sock.getsockname()[1], lease, sample[1] + sample[2] * 1e-9, flush=True)
os._exit(0)
